import { createHash } from "node:crypto";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Database, openDatabase } from "../../../src/storage/driver/database-sync.js";
import { applyMigrations, MigrationError } from "../../../src/storage/driver/migrate.js";
import { writeMigrations } from "../../support/migrations.js";
import { tempFolder } from "../../support/temp-folder.js";

const first = `CREATE TABLE "parent" ("id" INTEGER NOT NULL PRIMARY KEY);
CREATE TABLE "child" (
  "id" INTEGER NOT NULL PRIMARY KEY,
  "parent" INTEGER NOT NULL REFERENCES "parent" ("id") ON DELETE CASCADE
);`;
const second = `ALTER TABLE "child" ADD COLUMN "note" TEXT;`;

/** What Prisma writes to change a table that SQLite cannot alter. */
const rebuild = `-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_parent" ("id" INTEGER NOT NULL PRIMARY KEY, "name" TEXT NOT NULL DEFAULT '');
INSERT INTO "new_parent" ("id") SELECT "id" FROM "parent";
DROP TABLE "parent";
ALTER TABLE "new_parent" RENAME TO "parent";
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;`;

function setUp(migrations: Readonly<Record<string, string>>) {
  const folder = tempFolder();
  const target = {
    provider: "sqlite",
    path: join(folder, "test.db"),
    folder: join(folder, "migrations"),
  } as const;
  writeMigrations(target.folder, migrations);
  return target;
}

function open(path: string): Database {
  const database = openDatabase(path);
  onTestFinished(() => database.close());
  return database;
}

function tables(path: string): unknown[] {
  const query =
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\' ORDER BY name";
  return open(path)
    .prepare(query)
    .all()
    .map((row) => (row as { name: string }).name);
}

describe("migrations", () => {
  it("are applied in the order of their names, once", async () => {
    const target = setUp({ "2_second": second, "1_first": first });
    expect(await applyMigrations(target)).toEqual(["1_first", "2_second"]);
    expect(await applyMigrations(target)).toEqual([]);
    writeMigrations(target.folder, { "3_third": "CREATE TABLE third (a);" });
    expect(await applyMigrations(target)).toEqual(["3_third"]);
  });

  it("leave the rows that Prisma's own migrate would", async () => {
    const target = setUp({ "1_first": first });
    await applyMigrations(target);
    const rows = open(target.path).prepare(`SELECT * FROM "_prisma_migrations"`).all();
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/);
    expect(rows.map((row) => ({ ...(row as object) }))).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
        checksum: createHash("sha256").update(first).digest("hex"),
        finished_at: time,
        migration_name: "1_first",
        logs: null,
        rolled_back_at: null,
        started_at: time,
        applied_steps_count: 1,
      },
    ]);
  });

  it("are applied once by servers that start at once", async () => {
    const target = setUp({ "1_first": first, "2_second": second, "3_rebuild": rebuild });
    const applied = await Promise.all(Array.from({ length: 4 }, () => applyMigrations(target)));
    expect(applied.flat().sort()).toEqual(["1_first", "2_second", "3_rebuild"]);
  });

  it("wait for another writer of the database", async () => {
    const target = setUp({ "1_first": first });
    const other = open(target.path);
    other.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; CREATE TABLE other (a)");
    const applied = applyMigrations(target);
    setTimeout(() => other.exec("COMMIT"), 100);
    expect(await applied).toEqual(["1_first"]);
  });

  it("that were changed after they were applied are refused, but not for their line ends", async () => {
    const target = setUp({ "1_first": first });
    await applyMigrations(target);
    writeMigrations(target.folder, { "1_first": first.replaceAll("\n", "\r\n"), "2_second": second });
    expect(await applyMigrations(target)).toEqual(["2_second"]);
    writeMigrations(target.folder, { "1_first": `${first} -- changed` });
    await expect(applyMigrations(target)).rejects.toThrow("1_first was changed");
  });

  it("that this build does not know are refused", async () => {
    const target = setUp({ "1_first": first, "2_second": second });
    await applyMigrations(target);
    const older = setUp({ "1_first": first });
    await expect(applyMigrations({ ...older, path: target.path })).rejects.toThrow(/2_second.*newer/);
  });

  it("that failed half way elsewhere are refused, unless they were rolled back", async () => {
    const target = setUp({ "1_first": first });
    await applyMigrations(target);
    const database = open(target.path);
    database.exec(
      `INSERT INTO "_prisma_migrations" ("id", "checksum", "migration_name") VALUES ('x', 'y', '2_second')`,
    );
    writeMigrations(target.folder, { "2_second": second });
    await expect(applyMigrations(target)).rejects.toThrow("2_second failed half way");
    database.exec(`UPDATE "_prisma_migrations" SET "rolled_back_at" = 1 WHERE "id" = 'x'`);
    expect(await applyMigrations(target)).toEqual(["2_second"]);
  });

  it("that rebuild a table do not delete its children", async () => {
    const target = setUp({ "1_first": first });
    await applyMigrations(target);
    open(target.path).exec(
      "INSERT INTO parent VALUES (1), (2); INSERT INTO child VALUES (1, 1), (2, 2), (3, 2)",
    );
    writeMigrations(target.folder, { "2_rebuild": rebuild });
    await applyMigrations(target);
    const [row] = open(target.path)
      .prepare("SELECT COUNT(*) AS n FROM child JOIN parent ON parent = parent.id")
      .all();
    expect(row).toMatchObject({ n: 3 });
  });

  it("that fail leave nothing, and those before them stay", async () => {
    const target = setUp({
      "1_first": first,
      "2_bad": "CREATE TABLE half (a); INSERT INTO nowhere VALUES (1);",
    });
    const failure = applyMigrations(target);
    await expect(failure).rejects.toBeInstanceOf(MigrationError);
    await expect(failure).rejects.toThrow(
      "migration 2_bad failed and was rolled back: no such table: nowhere",
    );
    expect(tables(target.path)).toEqual(["child", "parent"]);
    writeMigrations(target.folder, { "2_bad": "CREATE TABLE whole (a);" });
    expect(await applyMigrations(target)).toEqual(["2_bad"]);
  });

  it("that break a foreign key fail", async () => {
    const target = setUp({ "1_first": first });
    await applyMigrations(target);
    open(target.path).exec("INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1, 1)");
    writeMigrations(target.folder, { "2_orphans": "DELETE FROM parent;" });
    await expect(applyMigrations(target)).rejects.toThrow("rows of child refer to rows that parent lacks");
    expect(open(target.path).prepare("SELECT * FROM parent").all()).toHaveLength(1);
  });

  it("that end their transaction fail", async () => {
    const target = setUp({ "1_commit": "CREATE TABLE a (b); COMMIT;" });
    await expect(applyMigrations(target)).rejects.toThrow("ends the transaction");
  });
});
