import { createHash } from "node:crypto";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { applyMigrations } from "../../../src/storage/driver/migrate.js";
import { writeMigrations } from "../../support/migrations.js";
import { startPostgres } from "../../support/postgres.js";
import { tempFolder } from "../../support/temp-folder.js";

const first = `CREATE TABLE "parent" ("id" INTEGER NOT NULL PRIMARY KEY);
CREATE TABLE "child" ("id" INTEGER NOT NULL PRIMARY KEY, "parent" INTEGER NOT NULL REFERENCES "parent" ("id"));`;
const second = `ALTER TABLE "child" ADD COLUMN "note" TEXT;`;

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

async function setUp(migrations: Readonly<Record<string, string>>) {
  if (postgres === undefined) throw new Error("no server");
  const folder = writeMigrations(tempFolder(), migrations);
  return { provider: "postgresql", url: await postgres.createDatabase(), folder } as const;
}

async function open(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  onTestFinished(() => client.end());
  await client.connect();
  return client;
}

describe.skipIf(postgres === undefined)("migrations on PostgreSQL", () => {
  it("are applied in the order of their names, once", async () => {
    const target = await setUp({ "2_second": second, "1_first": first });
    expect(await applyMigrations(target)).toEqual(["1_first", "2_second"]);
    expect(await applyMigrations(target)).toEqual([]);
  });

  it("leave the rows that Prisma's own migrate would", async () => {
    const target = await setUp({ "1_first": first });
    await applyMigrations(target);
    const { rows } = await (await open(target.url)).query("SELECT * FROM _prisma_migrations");
    expect(rows).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
        checksum: createHash("sha256").update(first).digest("hex"),
        finished_at: expect.any(Date),
        migration_name: "1_first",
        logs: null,
        rolled_back_at: null,
        started_at: expect.any(Date),
        applied_steps_count: 1,
      },
    ]);
  });

  it("are applied once by servers that start at once", async () => {
    const target = await setUp({ "1_first": first, "2_second": second });
    const applied = await Promise.all(Array.from({ length: 4 }, () => applyMigrations(target)));
    expect(applied.flat()).toEqual(["1_first", "2_second"]);
  });

  it("give up when another server holds the lock for too long", async () => {
    const target = await setUp({ "1_first": first });
    const other = await open(target.url);
    await other.query("SELECT pg_advisory_lock(72707369)");
    await expect(applyMigrations({ ...target, timeoutMs: 50 })).rejects.toThrow(
      "another process is still applying",
    );
    await other.query("SELECT pg_advisory_unlock(72707369)");
    expect(await applyMigrations(target)).toEqual(["1_first"]);
  });

  it("that were changed, or that this build does not know, are refused", async () => {
    const target = await setUp({ "1_first": first, "2_second": second });
    await applyMigrations(target);
    const older = writeMigrations(tempFolder(), { "1_first": first });
    await expect(applyMigrations({ ...target, folder: older })).rejects.toThrow(/2_second.*newer/);
    writeMigrations(target.folder, { "1_first": `${first} -- changed` });
    await expect(applyMigrations(target)).rejects.toThrow("1_first was changed");
  });

  it("that fail leave nothing, and those before them stay", async () => {
    const target = await setUp({
      "1_first": first,
      "2_bad": "CREATE TABLE half (a INT); SELECT * FROM nowhere;",
    });
    await expect(applyMigrations(target)).rejects.toThrow("migration 2_bad failed and was rolled back");
    const client = await open(target.url);
    const { rows } = await client.query("SELECT to_regclass('half') AS half, to_regclass('child') AS child");
    expect(rows).toEqual([{ half: null, child: "child" }]);
    writeMigrations(target.folder, { "2_bad": "CREATE TABLE whole (a INT);" });
    expect(await applyMigrations(target)).toEqual(["2_bad"]);
  });
});
