import { randomUUID } from "node:crypto";
import pg from "pg";
import type { Migration } from "./migration-files.js";
import { failedMigration, type HistoryRow, MigrationError, missingMigrations } from "./migration-history.js";

const historyTable = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                      VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum                VARCHAR(64) NOT NULL,
    finished_at             TIMESTAMPTZ,
    migration_name          VARCHAR(255) NOT NULL,
    logs                    TEXT,
    rolled_back_at          TIMESTAMPTZ,
    started_at              TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count     INTEGER NOT NULL DEFAULT 0
)`;

/** The lock that Prisma's own `migrate` takes, so that the two exclude each other as well. */
const advisoryLock = 72707369;
const lockNotAvailable = "55P03";

/** One connection, so one session, holds the lock from the first look at the history to the last migration. */
export async function migratePostgres(
  { url, connectTimeoutMs = 30_000 }: { readonly url: string; readonly connectTimeoutMs?: number },
  migrations: readonly Migration[],
  timeoutMs: number,
): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  const ask: Ask = (text, waitMs = 0) => {
    const query = { text, query_timeout: connectTimeoutMs + waitMs };
    return client.query(query);
  };
  // A connection that is lost also fails the query that is under way, which is where it is reported.
  client.on("error", () => undefined);
  await client.connect();
  try {
    await lock(ask, timeoutMs);
    const missing = missingMigrations(await readHistory(ask), migrations);
    if (missing.length > 0) await client.query(historyTable);
    for (const migration of missing) await apply(client, migration);
    return missing.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

/** For what is answered at once: a server that hangs fails it. A migration may take as long as it takes. */
type Ask = <Row extends pg.QueryResultRow>(text: string, waitMs?: number) => Promise<pg.QueryResult<Row>>;

async function lock(ask: Ask, timeoutMs: number): Promise<void> {
  try {
    await ask(`SET lock_timeout = ${Math.trunc(timeoutMs)}`);
    await ask(`SELECT pg_advisory_lock(${advisoryLock})`, timeoutMs);
    await ask("RESET lock_timeout");
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== lockNotAvailable) throw error;
    throw new MigrationError("another process is still applying migrations to this database", {
      cause: error,
    });
  }
}

async function apply(client: pg.Client, { name, sql, checksum }: Migration): Promise<void> {
  const startedAt = new Date();
  await client.query("BEGIN");
  try {
    await client.query(sql);
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
        VALUES ($1, $2, $3, $4, $5, 1)`,
      [randomUUID(), checksum, name, startedAt, new Date()],
    );
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw failedMigration(name, error);
  }
}

async function readHistory(ask: Ask): Promise<readonly HistoryRow[]> {
  const table = await ask<{ found: boolean }>(
    "SELECT to_regclass('_prisma_migrations') IS NOT NULL AS found",
  );
  if (!table.rows[0]!.found) return [];
  const { rows } = await ask<HistoryRow>(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
      FROM _prisma_migrations WHERE rolled_back_at IS NULL`,
  );
  return rows;
}
