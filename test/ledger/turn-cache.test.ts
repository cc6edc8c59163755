import { expect, test } from "vitest";
import { exactModel, putAgent } from "../assembly/agent.js";
import { openedEngine } from "../assembly/opened-engine.js";
import { assistant, user } from "../support/messages.js";

test("the turns of a whole page lie side by side in memory, byte for byte as they are stored", async () => {
  const { quire, engine } = await openedEngine();
  await putAgent(quire);
  await quire.ledger.createSession({ label: "s", defaults: { capsule: "atlas", model: exactModel } });
  let branchId = "";
  for (let at = 1; at <= 70; at++) {
    const said = [user(`Question ${at}. ${"é".repeat(at)}`), assistant(`Answer ${at}.`)];
    const { turn } = await quire.ledger.recordTurn({ session: "s", messages: said });
    branchId = (await engine.ledger.threads.findTurn("default", turn!.id))!.branchId!;
  }
  const segment = { branchId, fromDepth: 1, toDepth: 70 };
  const read = async () => {
    const turns = [];
    for await (const some of engine.ledger.cache.read("default", 0, segment)) turns.push(...some);
    return turns;
  };
  const stored = await engine.ledger.threads.readSegment("default", segment);
  await read();
  const kept = await read();
  const bytes = (turns: typeof kept) =>
    turns.map(({ turnId, depth, wires }) => [turnId, depth, Buffer.concat(wires)]);
  expect(bytes(kept)).toEqual(bytes(stored));
  const page = kept.slice(0, 64).flatMap(({ wires }) => wires);
  page.slice(1).forEach((wire, at) => {
    expect(wire.buffer).toBe(page[at]!.buffer);
    expect(wire.byteOffset).toBe(page[at]!.byteOffset + page[at]!.length);
  });
  // More come behind them: they are put together when the page is whole.
  expect(kept[64]!.wires[0]!.buffer).not.toBe(page[0]!.buffer);
});
