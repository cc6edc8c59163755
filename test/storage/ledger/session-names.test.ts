import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { startPostgres } from "../../support/postgres.js";
import { openLedger, sqliteUrl } from "./open-ledger.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** A database that sorts as people of a language do, as those that packages set up usually are. */
async function languageDatabase(): Promise<string> {
  const client = new pg.Client({ connectionString: postgres!.url });
  await client.connect();
  try {
    await client.query("CREATE DATABASE sorted TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'");
  } finally {
    await client.end();
  }
  return postgres!.url.replace(/[^/]+$/, "sorted");
}

const databases = [
  { name: "SQLite", skip: false, url: async () => sqliteUrl() },
  { name: "PostgreSQL with a language's order", skip: postgres === undefined, url: languageDatabase },
];

const labels = ["support-1", "support-2", "Support-3", "supportx", "sup", "a%b", "axb", "a_b", "a\\b", "ä-1"];

describe.each(databases)("session names on $name", ({ url, skip }) => {
  it.skipIf(skip)("are listed by the very characters that they begin with", async () => {
    const ledger = await openLedger(await url());
    for (const label of labels) await ledger.create({ label });
    const listed = async (labelPrefix: string) => {
      const filter = { labelPrefix, parentSessionId: "", taskStatus: "", beforeId: "", limit: 20 };
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
