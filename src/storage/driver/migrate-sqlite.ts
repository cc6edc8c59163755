import { randomUUID } from "node:crypto";
import { retryWhileBusy } from "./busy.js";
import { type Database, openDatabase } from "./database-sync.js";
import { describeIndexes } from "./index-statistics.js";
import type { Migration } from "./migration-files.js";
import { failedMigration, type HistoryRow, missingMigrations } from "./migration-history.js";

const historyTable = `CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
    "id"                    TEXT PRIMARY KEY NOT NULL,
    "checksum"              TEXT NOT NULL,
    "finished_at"           DATETIME,
    "migration_name"        TEXT NOT NULL,
    "logs"                  TEXT,
    "rolled_back_at"        DATETIME,
    "started_at"            DATETIME NOT NULL DEFAULT current_timestamp,
    "applied_steps_count"   INTEGER UNSIGNED NOT NULL DEFAULT 0
)`;

/** Each migration takes the write lock and looks at the history anew, so that of two servers one applies it. */
export async function migrateSqlite(
  path: string,
  migrations: readonly Migration[],
  timeoutMs: number,
): Promise<readonly string[]> {
  const database = openDatabase(path);
  try {
    // Foreign keys cannot be switched inside a transaction, and a table that is rebuilt must not delete its children.
    await retryWhileBusy(
      () => database.exec("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF"),
      timeoutMs,
    );
    const applied: string[] = [];
    while (missingMigrations(readHistory(database), migrations).length > 0) {
      await retryWhileBusy(() => database.exec("BEGIN IMMEDIATE"), timeoutMs);
      applied.push(...applyNext(database, migrations));
    }
    await describeIndexes(database, timeoutMs);
    return applied;
  } finally {
    database.close();
  }
}

function applyNext(database: Database, migrations: readonly Migration[]): readonly string[] {
  try {
    const [next] = missingMigrations(readHistory(database), migrations);
    if (next !== undefined) apply(database, next);
    database.exec("COMMIT");
    return next === undefined ? [] : [next.name];
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function apply(database: Database, { name, sql, checksum }: Migration): void {
  const startedAt = timestamp();
  try {
    database.exec(sql);
    if (!database.isTransaction) throw new Error("it ends the transaction it runs in");
    const [orphan] = database.prepare("PRAGMA foreign_key_check").all() as {
      table: string;
      parent: string;
    }[];
    if (orphan !== undefined)
      throw new Error(`rows of ${orphan.table} refer to rows that ${orphan.parent} lacks`);
  } catch (error) {
    throw failedMigration(name, error);
  }
  database.exec(historyTable);
  database
    .prepare(
      `INSERT INTO "_prisma_migrations"
        ("id", "checksum", "migration_name", "started_at", "finished_at", "applied_steps_count") VALUES (?, ?, ?, ?, ?, 1)`,
    )
    .run(randomUUID(), checksum, name, startedAt, timestamp());
}

function readHistory(database: Database): readonly HistoryRow[] {
  const table = database.prepare("SELECT 1 FROM sqlite_master WHERE name = '_prisma_migrations'").all();
  if (table.length === 0) return [];
  const rows = database
    .prepare(
      `SELECT "migration_name" AS "name", "checksum", "finished_at" IS NOT NULL AS "finished"
        FROM "_prisma_migrations" WHERE "rolled_back_at" IS NULL`,
    )
    .all() as { name: string; checksum: string; finished: number }[];
  return rows.map(({ name, checksum, finished }) => ({ name, checksum, finished: finished === 1 }));
}

function timestamp(): string {
  return new Date().toISOString().replace("Z", "+00:00");
}
