import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export interface Migration {
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the SQL, as Prisma computes it. */
  readonly checksum: string;
}

/** The migrations in `folder`, one folder each, in the order of their names. */
export async function readMigrations(folder: string): Promise<readonly Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return Promise.all(names.sort().map((name) => readMigration(folder, name)));
}

async function readMigration(folder: string, name: string): Promise<Migration> {
  // A checkout may have changed the line ends; that is no other migration.
  const sql = (await readFile(join(folder, name, "migration.sql"), "utf8")).replaceAll("\r\n", "\n");
  return { name, sql, checksum: createHash("sha256").update(sql).digest("hex") };
}
