import type { Migration } from "./migration-files.js";

/** The migrations cannot be applied; the database is as it was before the one that failed. */
export class MigrationError extends Error {
  override readonly name = "MigrationError";
}

/** What a row of `_prisma_migrations` says; rows that were rolled back are left out. */
export interface HistoryRow {
  readonly name: string;
  readonly checksum: string;
  readonly finished: boolean;
}

/** The migrations that the database lacks. Throws when its history is not one that this build can continue. */
export function missingMigrations(
  history: readonly HistoryRow[],
  migrations: readonly Migration[],
): readonly Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const { name, checksum, finished } of history) {
    if (!finished) {
      throw new MigrationError(
        `migration ${name} failed half way in this database; repair or restore it first`,
      );
    }
    const migration = known.get(name);
    if (migration === undefined) {
      throw new MigrationError(
        `the database has migration ${name}, which this build does not know: use a newer one`,
      );
    }
    if (migration.checksum !== checksum) {
      throw new MigrationError(`migration ${name} was changed after it was applied to this database`);
    }
  }
  const applied = new Set(history.map(({ name }) => name));
  return migrations.filter(({ name }) => !applied.has(name));
}

export function failedMigration(name: string, cause: unknown): MigrationError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new MigrationError(`migration ${name} failed and was rolled back: ${reason}`, { cause });
}
