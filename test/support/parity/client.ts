import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../../../src/config/package-root.js";
import { sha256 } from "../../../src/domain/hash.js";
import type { SqliteAdapterFactory } from "../../../src/storage/driver/sqlite-adapter.js";

/** As much of the generated client as the tests use. Batches take what a call gives before it is awaited. */
export interface ParityClient extends ParityTables {
  $transaction<T>(work: (tx: ParityTables) => Promise<T>, options?: object): Promise<T>;
  $transaction(batch: readonly Promise<unknown>[]): Promise<readonly unknown[]>;
  $disconnect(): Promise<void>;
}

export interface ParityTables {
  readonly scalar: Table<{ readonly id: number }>;
  readonly author: Table<{ readonly id: string }>;
  readonly post: Table<{ readonly id: number }>;
  readonly tag: Table<{ readonly id: number; readonly label: string }>;
  readonly counter: Table<{ readonly value: number }>;
  $queryRaw(sql: TemplateStringsArray, ...values: readonly unknown[]): Promise<unknown>;
  $queryRawUnsafe(sql: string, ...values: readonly unknown[]): Promise<unknown>;
  $executeRaw(sql: TemplateStringsArray, ...values: readonly unknown[]): Promise<number>;
  $executeRawUnsafe(sql: string, ...values: readonly unknown[]): Promise<number>;
}

interface Table<Row> {
  create(args: object): Promise<Row>;
  createMany(args: object): Promise<{ readonly count: number }>;
  createManyAndReturn(args: object): Promise<readonly Row[]>;
  findMany(args?: object): Promise<readonly Row[]>;
  findUnique(args: object): Promise<Row | null>;
  findUniqueOrThrow(args: object): Promise<Row>;
  update(args: object): Promise<Row>;
  updateMany(args: object): Promise<{ readonly count: number }>;
  upsert(args: object): Promise<Row>;
  delete(args: object): Promise<Row>;
  deleteMany(args: object): Promise<{ readonly count: number }>;
  count(args?: object): Promise<number>;
  aggregate(args: object): Promise<unknown>;
  groupBy(args: object): Promise<unknown>;
}

const schemaFile = fileURLToPath(new URL("./schema.prisma", import.meta.url));
const { version } = createRequire(import.meta.url)("@prisma/client/package.json") as {
  readonly version: string;
};

/** The client of `schema.prisma`, generated once for a schema and a version of Prisma. `vitest.config.ts` knows where. */
function clientFolder(): string {
  const key = sha256(Buffer.from(version), readFileSync(schemaFile)).toString("hex").slice(0, 16);
  const folder = join(packageRoot, "node_modules", ".cache", "parity-client", key);
  if (!existsSync(folder)) {
    const script = join(packageRoot, "scripts", "prisma.mjs");
    execFileSync(process.execPath, [script, "client", schemaFile, folder], { cwd: packageRoot });
  }
  return folder;
}

interface GeneratedModule {
  readonly PrismaClient: new (options: { readonly adapter: SqliteAdapterFactory }) => ParityClient;
}

export const { PrismaClient } = (await import(join(clientFolder(), "client.ts"))) as GeneratedModule;
