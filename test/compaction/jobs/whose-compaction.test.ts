import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { HistoryView } from "../../../src/contract/gen/quire/v1/ledger_service.js";
import type { Quire } from "../../../src/index.js";
import { bothDatabases } from "../../assembly/both-databases.js";
import { threadOf, tight, view } from "../../assembly/compacted-session.js";
import { bytesOf } from "../../assembly/fold.js";
import { assembled, compactionsOf, growSession, longSession } from "../../assembly/long-session.js";
import { startModelServer } from "../../support/model-server.js";
import { startPostgres } from "../../support/postgres.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const assemble = (quire: Quire, session: string, historyTokens: number) =>
  assembled(quire.assembly.assemble({ context: tight(session, historyTokens) }));

async function fork(quire: Quire, label: string, at: { session?: string; turnId?: string }): Promise<void> {
  const { session = "", turnId } = at;
  await quire.ledger.forkSession({
    session,
    label,
    ...(turnId ? { at: { $case: "turnId", value: turnId } } : {}),
  });
}

describe.each(bothDatabases(postgres))("on $name", ({ isMissing, open }) => {
  const test = it.skipIf(isMissing);

  test("what is compacted on one side of a fork leaves the bytes of the other as they were, either way", async () => {
    const { quire } = await open();
    await longSession(quire, "origin", 12);
    await fork(quire, "fork", { session: "origin" });
    await fork(quire, "fork of fork", { session: "fork" });
    for (const [side, others] of [
      ["fork", ["origin", "fork of fork"]],
      ["origin", ["fork of fork"]],
    ] as const) {
      const before = await Promise.all(others.map((other) => assemble(quire, other, 2_000)));
      await quire.ledger.compact({ session: side });
      const after = await Promise.all(others.map((other) => assemble(quire, other, 2_000)));
      expect(after.map(({ history }) => bytesOf(history))).toEqual(
        before.map(({ history }) => bytesOf(history)),
      );
      const own = await assemble(quire, side, 2_000);
      expect(own.layer.compactionId).toBe((await compactionsOf(quire, side))[0]!.id);
    }
    expect(await compactionsOf(quire, "fork of fork")).toEqual([]);
    const { thread } = await view(quire, { session: "fork of fork" }, HistoryView.EFFECTIVE);
    expect(thread).toMatchObject({ compactionId: "", streamedTurns: 12 });
  });

  test("a fork made afterwards at or behind the turn has the compaction; one made before it, or by another session, does not", async () => {
    const { quire } = await open();
    const head = await longSession(quire, "origin", 12);
    const { compaction } = await quire.ledger.compact({ session: "origin" });
    const later = await growSession(quire, "origin", [13, 14], head);
    const turns = (await threadOf(quire, "origin")).map(({ id }) => id);
    await fork(quire, "at", { turnId: head });
    await fork(quire, "behind", { turnId: later });
    await fork(quire, "before", { turnId: turns[10]! });
    await fork(quire, "again", { session: "behind" });
    for (const [label, id] of [
      ["at", compaction!.id],
      ["behind", compaction!.id],
      ["again", compaction!.id],
      ["before", ""],
    ] as const) {
      expect((await assemble(quire, label, 5_000)).layer.compactionId, label).toBe(id);
      expect((await view(quire, { session: label }, HistoryView.EFFECTIVE)).thread.compactionId, label).toBe(
        id,
      );
    }
    // The turns are those of the origin; the session that is named has not compacted them.
    await quire.ledger.createSession({ label: "stranger" });
    await fork(quire, "named", { session: "stranger", turnId: later });
    expect((await assemble(quire, "named", 5_000)).layer).toMatchObject({ compactionId: "", turns: 14 });
  });

  test("a deleted session takes the compactions with it that nobody else holds", async () => {
    const { quire, engine } = await open();
    await longSession(quire, "origin", 12);
    const shared = await quire.ledger.compact({ session: "origin" });
    await fork(quire, "fork", { session: "origin" });
    const own = await quire.ledger.compact({ session: "fork", keepTurns: 1 });
    await quire.ledger.deleteSession({ session: "origin" });
    expect((await assemble(quire, "fork", 5_000)).layer.compactionId).toBe(own.compaction!.id);
    expect((await compactionsOf(quire, "fork")).map(({ id }) => id)).toEqual([
      own.compaction!.id,
      shared.compaction!.id,
    ]);
    await quire.ledger.deleteSession({ session: "fork" });
    for (const table of ["compactions", "session_compactions"])
      expect(await engine.database.sqlReader.query(`SELECT 1 FROM ${table}`, []), table).toEqual([]);
  });

  test("a summary of the same turns is not paid for again", async () => {
    const model = await startModelServer(() => ({ text: "They looked for a parcel." }));
    onTestFinished(() => model.close());
    const { quire } = await open({
      summarizerOpenaiUrl: model.baseUrl("openai"),
      summarizerOpenaiModel: "gpt-small",
    });
    await longSession(quire, "origin", 12);
    for (const label of ["one", "other"]) await fork(quire, label, { session: "origin" });
    const summarizers = { names: ["openai"] };
    const paid = await quire.ledger.compact({ session: "one", summarizers });
    expect(paid.compaction!.inputTokens).toBeGreaterThan(0);
    const reused = await quire.ledger.compact({ session: "other", summarizers });
    expect(reused.compaction).toMatchObject({
      summary: "They looked for a parcel.",
      summarizer: "openai",
      firstKeptTurnId: paid.compaction!.firstKeptTurnId,
      lastSummarizedTurnId: paid.compaction!.lastSummarizedTurnId,
      inputTokens: 0,
    });
    expect(model.requests).toHaveLength(1);
    await quire.ledger.compact({ session: "origin", summarizers, instructions: "Keep the river." });
    expect(model.requests).toHaveLength(2);
  });
});
