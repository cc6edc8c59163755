import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../../src/config/package-root.js";
import { TurnStatus } from "../../../src/contract/gen/quire/v1/turn.js";
import type { Engine } from "../../../src/engine.js";
import { bothDatabases } from "../../assembly/both-databases.js";
import { growSession, longSession, plainTurn } from "../../assembly/long-session.js";
import { assistant, system, toolCalls, user } from "../../support/messages.js";
import { startPostgres } from "../../support/postgres.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** The statements of the migration that fill what it has made. */
function filling(dialect: "sqlite" | "postgresql"): string[] {
  const path = join(packageRoot, "prisma", dialect, "migrations", "20261117062000_cuts", "migration.sql");
  const sql = readFileSync(path, "utf8");
  return sql
    .slice(sql.indexOf("-- What each turn costs by itself"))
    .split(/;\s*(?:\n|$)/)
    .filter((statement) => statement.trim() !== "");
}

const read = async ({ database }: Engine, text: string) =>
  (await database.sqlReader.query(text, [])).map((row) => row.map(String));

const counts = "SELECT id, thread_tokens, thread_context_tokens, thread_messages FROM turns ORDER BY id";
const held =
  "SELECT session_id, compaction_id, before_tokens, before_context_tokens, before_messages, floor_model FROM session_compactions ORDER BY session_id, compaction_id";

describe.each(bothDatabases(postgres))("on $name", ({ isMissing, open }) => {
  it.skipIf(isMissing)(
    "the migration gives existing turns the counts that new ones get, and compactions to those who see them",
    async () => {
      const { quire, engine } = await open();
      const contextParts = [{ content: { $case: "text" as const, value: { text: "It rains today." } } }];
      const spoken = (number: number) => [
        system("Be brief."),
        ...plainTurn(number).map((message, at) =>
          at === 0 ? { ...message, contextParts, contextJson: "{}" } : message,
        ),
      ];
      const head = await longSession(quire, "origin", 6, spoken);
      const asked = await quire.ledger.recordTurn({
        session: "origin",
        parentTurnId: head,
        messages: [user("Look."), toolCalls("call-1", "call-2")],
        status: TurnStatus.AWAITING,
      });
      const given = await quire.ledger.recordTurn({
        session: "origin",
        parentTurnId: asked.turn!.id,
        messages: [user("Never mind."), assistant("As you like.")],
        abandonOpenItems: true,
      });
      await growSession(quire, "origin", [9, 10], given.turn!.id, spoken);
      await quire.ledger.compact({ session: "origin", keepTurns: 2 });
      for (const [label, from] of [
        ["fork", "origin"],
        ["fork of fork", "fork"],
      ] as const) {
        await quire.ledger.forkSession({ session: from, label });
        const { session } = await quire.ledger.getSession({ session: label });
        await growSession(quire, label, [20, 22], session!.headTurnId, spoken);
      }
      await growSession(
        quire,
        "origin",
        [30, 31],
        (await quire.ledger.getSession({ session: "origin" })).session!.headTurnId,
      );
      await quire.ledger.beginTurn({
        session: "origin",
        parentTurnId: (await quire.ledger.getSession({ session: "origin" })).session!.headTurnId,
        messages: [user("And now?")],
      });
      const before = { counts: await read(engine, counts), held: await read(engine, held) };
      expect(before.held).toHaveLength(3);
      await engine.database.sqlTransaction(async (sql) => {
        await sql.execute(
          "UPDATE turns SET thread_tokens = 0, thread_context_tokens = 0, thread_messages = 0",
          [],
        );
        await sql.execute("DELETE FROM session_compactions", []);
        for (const statement of filling(sql.dialect)) await sql.execute(statement, []);
      });
      expect(await read(engine, counts)).toEqual(before.counts);
      expect(await read(engine, held)).toEqual(before.held);
    },
  );
});
