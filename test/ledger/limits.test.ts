import { afterAll, describe, expect, it } from "vitest";
import { limits } from "../../src/ledger/limits.js";
import { type OpenLedger, openLedger, refusal, sqliteUrl } from "../storage/ledger/open-ledger.js";
import { startPostgres } from "../support/postgres.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** As if the session had been forked so often. */
async function setForks(ledger: OpenLedger, session: string, count: number): Promise<void> {
  await ledger.database.sqlTransaction((sql) =>
    sql.execute("UPDATE sessions SET fork_count = ? WHERE id = ?", [count, session]),
  );
}

async function forkCount(ledger: OpenLedger, session: string): Promise<number> {
  return (await ledger.deps.sessions.find("default", session))!.row.forkCount;
}

async function addAliases(ledger: OpenLedger, session: string, count: number): Promise<void> {
  await ledger.database.sqlTransaction(async (sql) => {
    const values = Array.from(
      { length: count },
      (_, index) => `('default', 'name-${index}', '${session}', 0)`,
    );
    await sql.execute(`INSERT INTO session_aliases VALUES ${values.join(",")}`, []);
  });
}

describe.each([
  ["sqlite", () => Promise.resolve(sqliteUrl())],
  ["postgresql", () => postgres!.createDatabase()],
] as const)("limits of a session on %s", (dialect, newDatabase) => {
  const rule = it.skipIf(dialect === "postgresql" && postgres === undefined);

  rule("forks: the last one is made, the next is refused; one that is deleted makes room", async () => {
    const ledger = await openLedger(await newDatabase());
    const session = await ledger.create({ label: "origin" });
    const { turn } = await ledger.record({ session });
    await setForks(ledger, session, limits.forks - 1);
    const last = await ledger.fork(turn!.id);
    const before = await ledger.rowCounts();
    await expect(ledger.fork(turn!.id)).rejects.toMatchObject({
      reason: "LIMIT_REACHED",
      metadata: { limit: "forks", max: "10000", session: "origin" },
    });
    await expect(ledger.forkSession("origin")).rejects.toMatchObject({ reason: "LIMIT_REACHED" });
    expect(await ledger.rowCounts()).toEqual(before);
    await ledger.delete(last);
    expect(await forkCount(ledger, session)).toBe(limits.forks - 1);
    await ledger.forkSession("origin");
  });

  rule(
    "forks: those of a session and of turns written through it count, those of its forks do not",
    async () => {
      const ledger = await openLedger(await newDatabase());
      const session = await ledger.create();
      const empty = await ledger.create();
      const { turn } = await ledger.record({ session });
      const fork = await ledger.forkSession(session);
      await ledger.fork(turn!.id);
      await ledger.forkSession(fork);
      await ledger.forkSession(empty);
      expect(await forkCount(ledger, session)).toBe(2);
      expect(await forkCount(ledger, fork)).toBe(1);
      expect(await forkCount(ledger, empty)).toBe(1);
      // Of a turn whose session is gone, forks are nobody's.
      await ledger.delete(session);
      await ledger.fork(turn!.id);
      expect(await forkCount(ledger, fork)).toBe(1);
    },
  );

  rule("forks: of two at once, when one is left, one is made", async () => {
    const url = await newDatabase();
    const ledgers = [await openLedger(url), await openLedger(url)];
    const session = await ledgers[0]!.create();
    await ledgers[0]!.record({ session });
    await setForks(ledgers[0]!, session, limits.forks - 1);
    const outcomes = await Promise.all(ledgers.map((ledger) => refusal(ledger.forkSession(session))));
    expect(outcomes.sort()).toEqual(["LIMIT_REACHED", "it was done"]);
  });

  rule("aliases: the last one is given, the next is refused; one taken away makes room", async () => {
    const ledger = await openLedger(await newDatabase());
    const session = await ledger.create({ label: "named" });
    const other = await ledger.create();
    await addAliases(ledger, session, limits.aliases - 1);
    await ledger.alias("last", "named");
    await ledger.alias("elsewhere", other);
    const refused = {
      reason: "LIMIT_REACHED",
      metadata: { limit: "aliases", max: "1000", session: "named" },
    };
    await expect(ledger.alias("another", "named")).rejects.toMatchObject(refused);
    await expect(ledger.alias("elsewhere", "named", true)).rejects.toMatchObject(refused);
    // It has that one already.
    await ledger.alias("last", "named");
    await ledger.alias("last", other, true);
    await ledger.alias("another", "named");
    expect(await ledger.count("session_aliases")).toBe(limits.aliases + 2);
  });

  rule("aliases: of two at once, when one is left, one is given", async () => {
    const url = await newDatabase();
    const ledgers = [await openLedger(url), await openLedger(url)];
    const session = await ledgers[0]!.create();
    await addAliases(ledgers[0]!, session, limits.aliases - 1);
    const outcomes = await Promise.all(
      ledgers.map((ledger, index) => refusal(ledger.alias(`another-${index}`, session))),
    );
    expect(outcomes.sort()).toEqual(["LIMIT_REACHED", "it was done"]);
  });
});
