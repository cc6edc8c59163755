import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../../src/storage/database.js";
import type { Dialect } from "../../src/storage/sql.js";
import { sqlitePath } from "../../src/storage/sqlite-path.js";
import { startPostgres } from "./postgres.js";

/** Where databases of one kind are made. */
export interface Home {
  readonly folder: string;
  /** The URL of a new, empty database. */
  create(name: string): Promise<string>;
  /** What a database that nobody has open takes on the disk. Its statistics are up to date afterwards. */
  settledBytes(url: string): Promise<number>;
  close(): Promise<void>;
}

export async function makeHome(dialect: Dialect): Promise<Home> {
  const folder = mkdtempSync(join(tmpdir(), "quire-bench-"));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  if (dialect === "sqlite") {
    return {
      folder,
      create: async (name) => `file:${join(folder, `${name}.db`)}`,
      settledBytes: async (url) => statSync(sqlitePath(url)).size,
      close: async () => removeFolder(),
    };
  }
  const postgres = await startPostgres();
  return {
    folder,
    create: (name) => postgres.createDatabase(name),
    async settledBytes(url) {
      const database = await openDatabase({ url, poolSize: 1, timeoutMs: 600_000 });
      try {
        await database.sqlReader.execute("VACUUM ANALYZE", []);
        const [row] = await database.sqlReader.query("SELECT pg_database_size(current_database())", []);
        return Number(row![0]);
      } finally {
        await database.close();
      }
    },
    async close() {
      await postgres.stop();
      removeFolder();
    },
  };
}
