import { expect, test } from "vitest";
import { Indexer } from "../../src/recall/indexing/indexer.js";
import type { Database } from "../../src/storage/database.js";
import { exactModel, putAgent } from "../assembly/agent.js";
import { openedEngine } from "../assembly/opened-engine.js";
import { handTimers } from "../support/hand-timers.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { contextText } from "./context-text.js";

/** Every row of every table. */
async function allRows({ sqlReader }: Database): Promise<Record<string, unknown>> {
  const tables = await sqlReader.query(
    "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
    [],
  );
  const rows: Record<string, unknown> = {};
  for (const [name] of tables as unknown as readonly [string][])
    rows[name] = await sqlReader.query(`SELECT * FROM "${name}"`, []);
  return rows;
}

test("a dry run writes nothing: no receipt, no counts, and nothing is indexed for it; the real one does all of that", async () => {
  const { engine, quire } = await openedEngine();
  // What waits to be indexed waits until somebody asks.
  await engine.recall.indexer.close();
  const indexer = new Indexer(engine.recall.store, handTimers(), () => undefined);
  Object.assign(engine.recall, { indexer });
  await putAgent(quire);
  await quire.ledger.createSession({ label: "s" });
  await quire.ledger.recordTurn({
    session: "s",
    messages: [user("x"), toolCalls("a", "b", "c"), toolResults("a", "b", "c"), assistant("y")],
  });
  await quire.sources.putItems({
    agent: "atlas",
    items: [
      { item: { $case: "preference", value: { text: "concise" } } },
      { item: { $case: "procedure", value: { title: "Find the spare key", steps: "1. look" } } },
    ],
  });
  await quire.memory.insertArchival({
    owner: { kind: "OWNER_KIND_AGENT", name: "atlas" },
    content: "The spare key of the cabin hangs behind the barn.",
  });
  const build = async (dryRun: boolean) => {
    const text = "Where is the spare key of the cabin?";
    const event = { content: [{ content: { $case: "text" as const, value: { text } } }] };
    const context = { session: "s", capsule: "atlas", model: exactModel, event, dryRun };
    return (await quire.assembly.buildContext({ context })).context!;
  };
  const before = await allRows(engine.database);
  const dry = await build(true);
  expect(await allRows(engine.database)).toEqual(before);
  expect(contextText(dry.currentMessage)).toContain("[SELF-MODEL]");
  expect(contextText(dry.currentMessage)).toContain("[LEARNED PROCEDURES]");
  expect(contextText(dry.currentMessage)).not.toContain("behind the barn");
  expect(dry.sources.find(({ name }) => name === "memory")!.detail).toMatch(/\d texts wait to be indexed/);
  const real = await build(false);
  await engine.assembly.receipts.flush();
  expect(contextText(real.currentMessage)).toContain("behind the barn");
  const after = await allRows(engine.database);
  const changed = Object.keys(after).filter(
    (name) => JSON.stringify(after[name], plain) !== JSON.stringify(before[name], plain),
  );
  expect(changed).toEqual(expect.arrayContaining(["search_documents", "receipts", "tool_outcomes"]));
  expect(contextText((await build(true)).currentMessage)).toContain("behind the barn");
});

function plain(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
