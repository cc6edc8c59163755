import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { SqliteTransaction } from "../../../src/storage/driver/sqlite-transaction.js";
import { startPostgres } from "../../support/postgres.js";
import { openLedger, sqliteUrl } from "./open-ledger.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

let made = 0;

/** A database that sorts as people of a language do, as those that packages set up usually are. */
async function languageDatabase(): Promise<string> {
  made++;
  const client = new pg.Client({ connectionString: postgres!.url });
  await client.connect();
  try {
    await client.query(
      `CREATE DATABASE sorted_${made} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`,
    );
  } finally {
    await client.end();
  }
  return postgres!.url.replace(/[^/]+$/, `sorted_${made}`);
}

const databases = [
  { name: "SQLite", skip: false, url: async () => sqliteUrl() },
  { name: "PostgreSQL with a language's order", skip: postgres === undefined, url: languageDatabase },
];

const labels = ["support-1", "support-2", "Support-3", "supportx", "sup", "a%b", "axb", "a_b", "a\\b", "ä-1"];

describe.each(databases)("session names on $name", ({ url, skip }) => {
  it.skipIf(skip)("come in order, whatever they are made of", async () => {
    const ledger = await openLedger(await url());
    const session = await ledger.create();
    const aliases = ["b", "a", 'quo"ted', "back\\slash", "ä", "日本"];
    for (const alias of aliases) await ledger.alias(alias, session);
    const found = await ledger.deps.sessions.find("default", session);
    expect(new Set(found!.aliases)).toEqual(new Set(aliases));
    expect(found!.aliases.filter((alias) => "ab".includes(alias))).toEqual(["a", "b"]);
    expect((await ledger.deps.sessions.find("default", "ä"))!.aliases).toEqual(found!.aliases);
  });

  it.skipIf(skip)("are listed by the very characters that they begin with", async () => {
    const ledger = await openLedger(await url());
    for (const label of labels) await ledger.create({ label });
    const listed = async (labelPrefix: string) => {
      const filter = {
        labelPrefix,
        parentSessionId: "",
        taskStatus: "",
        metadata: [],
        beforeId: "",
        limit: 20,
      };
      const found = await ledger.deps.sessions.list("default", filter);
      return found.map(({ row }) => row.label).reverse();
    };
    expect(await listed("support-")).toEqual(["support-1", "support-2"]);
    expect(await listed("S")).toEqual(["Support-3"]);
    expect(await listed("a%")).toEqual(["a%b"]);
    expect(await listed("a_")).toEqual(["a_b"]);
    expect(await listed("a\\")).toEqual(["a\\b"]);
    expect(await listed("ä")).toEqual(["ä-1"]);
    expect(await listed("")).toEqual(labels);
  });
});

describe("a session with many names", () => {
  it("costs as many rows to be given one more as a session with none", async () => {
    const ledger = await openLedger(sqliteUrl());
    const [plain, named] = [await ledger.create(), await ledger.create()];
    const many = Array.from({ length: 900 }, (_, index) => ({
      ...{ tenantId: "default", alias: `name-${index}`, sessionId: named, createdUs: 0n },
    }));
    await ledger.database.transaction((tx) => tx.sessionAlias.createMany({ data: many }));
    let rows = 0;
    const { queryRaw } = SqliteTransaction.prototype;
    const spy = vi.spyOn(SqliteTransaction.prototype, "queryRaw").mockImplementation(async function (
      this: SqliteTransaction,
      query,
    ) {
      const result = await queryRaw.call(this, query);
      rows += result.rows.length;
      return result;
    });
    onTestFinished(() => spy.mockRestore());
    const rowsOf = async (work: Promise<unknown>) => {
      rows = 0;
      await work;
      return rows;
    };
    const forPlain = await rowsOf(ledger.alias("one", plain));
    expect(await rowsOf(ledger.alias("another", named))).toBe(forPlain);
    expect((await ledger.deps.sessions.find("default", named))!.aliases).toHaveLength(901);
  });
});
