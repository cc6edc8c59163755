import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { createQuire } from "../../../src/index.js";
import { openDatabase } from "../../../src/storage/driver/database-sync.js";
import { StatementCache } from "../../../src/storage/driver/statement-cache.js";
import { tempFolder } from "../../support/temp-folder.js";

const actor = { kind: "ACTOR_KIND_AGENT" as const, name: "atlas" };
const agent = { kind: "OWNER_KIND_AGENT" as const, name: "atlas" };
const text = (value: string) => ({ content: { $case: "text" as const, value: { text: value } } });
const user = (value: string) => ({ role: "MESSAGE_ROLE_USER" as const, parts: [text(value)] });
const assistant = (value: string) => ({ role: "MESSAGE_ROLE_ASSISTANT" as const, parts: [text(value)] });

/** Something of everything, so that most statements of the server are prepared. */
async function live(database: string): Promise<void> {
  const quire = await createQuire({ database, logLevel: "silent" });
  try {
    const persona = { corePrompt: "You remember.", model: { model: "gpt-4o" } };
    await quire.capsules.putCapsule({ name: agent.name, body: { persona } });
    const block = { owner: agent, label: "notes" };
    await quire.memory.createBlock({
      block,
      operations: [{ operation: { $case: "setText", value: { text: "likes tea" } } }],
    });
    await quire.memory.shareBlock({ block, agent: "bo", permission: "BLOCK_PERMISSION_READ_ONLY" });
    await quire.memory.insertArchival({ owner: agent, content: "the blue teapot leaks" });
    const { session } = await quire.ledger.createSession({ label: "life" });
    let turnId = "";
    for (let at = 0; at < 20; at++) {
      const { turn } = await quire.ledger.recordTurn({
        // By its label and by its id, at the same time: one batch.
        session: at % 2 ? session!.id : "life",
        messages: [user(`question ${at} about src/tea/pot-${at}.ts`)],
        result: { messages: [assistant(`answer ${at}: `.repeat(40))] },
      });
      turnId = turn!.id;
    }
    await quire.ledger.forkSession({ session: "life", label: "fork" });
    await Promise.all(
      ["fork", session!.id].map((of) =>
        quire.ledger.recordTurn({
          session: of,
          messages: [user("both")],
          result: { messages: [assistant("yes")] },
        }),
      ),
    );
    await quire.ledger.compact({ session: "life", keepTurns: 2 });
    const event = { content: [text("What about pot-3?")] };
    const { context } = await quire.assembly.buildContext({
      context: { session: "life", capsule: agent.name, event },
    });
    await quire.assembly.getCacheReport({ session: "life" });
    await quire.assembly.getReceipt({ assemblyId: context!.assemblyId });
    await quire.memory.search({ query: "teapot pot-3", actor });
    await quire.memory.search({ query: "teapot pot-3", session: "life" });
    await quire.memory.listBlocks({ owner: agent });
    await quire.ledger.listTurns({ session: "life" });
    await quire.ledger.getTurn({ turnId });
    await quire.ledger.deleteSession({ session: "fork" });
  } finally {
    await quire.close();
  }
}

/** These go through what they show, a page at a time, in the order of the index; or show nothing. */
const pages = [
  /FROM sessions s WHERE s.tenant_id = \? ORDER BY s.id DESC LIMIT/,
  /FROM search_pending/,
  / 1=0/,
];
/** A few rows for each tenant, or one. */
const small = /\b(erasure_epochs|calibrations|sources|e)\b/;

test("no statement goes through all that a tenant has, however many ids it is given", async () => {
  const path = join(tempFolder(), "quire.db");
  const prepare = vi.spyOn(StatementCache.prototype, "prepare");
  await live(`file:${path}`);
  const texts = new Set(
    prepare.mock.calls.map(([sql]) => sql).filter((sql) => /^(SELECT|DELETE|UPDATE|WITH)/i.test(sql)),
  );
  prepare.mockRestore();
  expect(texts.size).toBeGreaterThan(100);
  const database = openDatabase(path);
  const found: string[] = [];
  for (const sql of texts) {
    const wide = sql.replaceAll(/ IN \((\?,?\s*)+\)/g, ` IN (${Array(64).fill("?").join(",")})`);
    if (pages.some((page) => page.test(sql))) continue;
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${wide}`).all() as { readonly detail: string }[];
    for (const { detail } of plan)
      if (/\(tenant_id=\?( AND \w+[<>]\?)?\)/.test(detail) && !small.test(detail))
        found.push(`${detail}: ${sql}`);
  }
  database.close();
  expect(found).toEqual([]);
});
