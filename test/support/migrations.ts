import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes migrations as they are checked in: a folder each, named after its key. */
export function writeMigrations(folder: string, migrations: Readonly<Record<string, string>>): string {
  for (const [name, sql] of Object.entries(migrations)) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, "migration.sql"), sql);
  }
  return folder;
}
