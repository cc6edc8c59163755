import { readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type SqliteAdapter, SqliteAdapterFactory } from "../../../src/storage/driver/sqlite-adapter.js";
import type { SqliteAdapterOptions } from "../../../src/storage/driver/sqlite-options.js";
import { tempFolder } from "../temp-folder.js";
import { type ParityClient, PrismaClient } from "./client.js";

const schema = readFileSync(new URL("./schema.sql", import.meta.url), "utf8");

/** Tests have no power cuts to survive. */
const fast = { mode: "writer", synchronous: "NORMAL" } as const;

export interface ParityDatabase {
  readonly path: string;
  readonly client: ParityClient;
  /** The adapter that the client uses. */
  readonly adapter: SqliteAdapter;
}

/** A new database with the parity model, closed when the test has finished. */
export async function openParity(options: Partial<SqliteAdapterOptions> = {}): Promise<ParityDatabase> {
  const path = join(tempFolder(), "parity.db");
  const database = await connectParity({ path, ...options });
  await database.adapter.executeScript(schema);
  return database;
}

/** A further connection to a database of `openParity`. */
export async function connectParity(
  options: Partial<SqliteAdapterOptions> & { readonly path: string },
): Promise<ParityDatabase> {
  const factory = new SqliteAdapterFactory({ ...fast, ...options });
  const client = new PrismaClient({ adapter: factory });
  const adapter = await factory.connect();
  onTestFinished(async () => {
    await client.$disconnect();
    await adapter.dispose();
  });
  return { path: options.path, client, adapter };
}
