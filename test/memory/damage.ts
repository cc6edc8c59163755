import { expect } from "vitest";
import { mutated, randomFrom } from "../../bench/attack/hostile-updates.js";
import { withChecksum } from "../../bench/attack/loro-checksum.js";
import type { Quire } from "../../src/index.js";
import { LoroClient } from "./loro-client.js";
import {
  asEntropy,
  compositeOf,
  field,
  listOf,
  mapOf,
  named,
  putBlock,
  setText,
  textNow,
  textOf,
} from "./memory-quire.js";

/** What became of damaged updates: how many were taken, changed nothing, or were refused for a reason. */
export type Outcomes = Readonly<Record<string, number>>;

/** Sends so many damaged updates. What is taken all the same must be a text; a good update is taken afterwards, and other blocks go on. */
export async function damage(quire: Quire, count: number, seed: number): Promise<Outcomes> {
  await putBlock(quire, "other", textOf, [setText("0")]);
  const random = randomFrom(seed);
  const outcomes: Record<string, number> = {};
  let target = await freshTarget(quire);
  for (let at = 0; at < count; at++) {
    const update = Buffer.from(mutated(target.good, random));
    const outcome = await send(quire, update);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    if (outcome === "taken") {
      // What it wrote is there now: the same operations of the same peer would not be looked at again.
      expect(await textNow(quire, "target")).toContain("=== a ===");
      await quire.memory.deleteBlock({ block: named("target") });
      target = await freshTarget(quire);
    }
    if (at % 100 === 0) await useOther(quire, at);
  }
  await target.client.sync();
  expect(await textNow(quire, "target")).toContain(target.client.doc.getText("section:a:text").toString());
  await useOther(quire, count);
  return outcomes;
}

const sections = compositeOf(
  { name: "a", schema: textOf.schema as never },
  {
    name: "b",
    schema: mapOf(field("mood", "TEXT"), field("tags", "LIST"), field("score", "COUNTER")).schema as never,
  },
  { name: "c", schema: listOf().schema as never },
);

/** A block with a bit of everything, and an update to all of it. */
async function freshTarget(quire: Quire) {
  await putBlock(quire, "target", sections, [setText("start", "a")], { charLimit: 100_000 });
  const client = await new LoroClient(quire, "target").open();
  const { doc } = client;
  const text = doc.getText("section:a:text");
  for (let at = 0; at < 40; at++) text.insert(at % 5, `word ${at} `);
  text.delete(3, 7);
  doc.getMap("section:b:fields").set("mood", "glad");
  doc.getList("section:b:list:tags").push("tea");
  doc.getCounter("section:b:counter:score").increment(3);
  const items = doc.getMovableList("section:c:items");
  for (let at = 0; at < 10; at++) items.push(`item ${at}`);
  items.move(2, 7);
  items.set(4, "another");
  items.delete(1, 2);
  const good = client.pending();
  expect(withChecksum(good)).toEqual(Buffer.from(good));
  return { client, good };
}

async function send(quire: Quire, update: Buffer): Promise<string> {
  try {
    const { block } = await quire.memory.syncBlock({ block: named("target"), actor: asEntropy, update });
    return block!.revision > 1 ? "taken" : "nothing new";
  } catch (error) {
    const { reason, metadata } = error as { readonly reason: string; readonly metadata?: { why?: string } };
    expect(["UPDATE_REFUSED", "BLOCK_LIMIT_EXCEEDED"]).toContain(reason);
    return (metadata?.why ?? reason).replaceAll(/\d+|".*"/g, "...");
  }
}

async function useOther(quire: Quire, at: number): Promise<void> {
  await quire.memory.updateBlock({ block: named("other"), operations: [setText(String(at))] });
  expect(await textNow(quire, "other")).toBe(String(at));
}
