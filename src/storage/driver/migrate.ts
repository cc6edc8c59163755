import { migrateSqlite } from "./migrate-sqlite.js";
import { readMigrations } from "./migration-files.js";

export { MigrationError } from "./migration-history.js";

export type MigrationTarget = {
  /** Holds one folder per migration, named so that their order is that of their names. */
  readonly folder: string;
  /** How long to wait for another server that is migrating. */
  readonly timeoutMs?: number;
} & (
  | { readonly provider: "sqlite"; readonly path: string }
  | { readonly provider: "postgresql"; readonly url: string; readonly connectTimeoutMs?: number }
);

/**
 * Applies the migrations that the database lacks and returns their names. Each is applied whole or not at all;
 * servers that start at once wait for one another. Throws a MigrationError when the database's history is not the
 * beginning of the given one.
 */
export async function applyMigrations(target: MigrationTarget): Promise<readonly string[]> {
  const migrations = await readMigrations(target.folder);
  const timeoutMs = target.timeoutMs ?? 60_000;
  if (target.provider === "sqlite") return migrateSqlite(target.path, migrations, timeoutMs);
  const { migratePostgres } = await import("./migrate-postgres.js");
  return migratePostgres(target, migrations, timeoutMs);
}
