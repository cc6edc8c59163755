import type { ArgType, SqlQueryable } from "@prisma/driver-adapter-utils";
import type { BoundedCache } from "../domain/bounded-cache.js";
import type { Caches } from "../domain/caches.js";
import { megabyte, textBytes } from "../domain/memory-size.js";
import type { Soon } from "../domain/soon.js";

export type Dialect = "sqlite" | "postgresql";
export type SqlValue = string | number | bigint | Buffer | null;
export type SqlRow = readonly unknown[];

/**
 * Hand-written SQL on the same driver adapter, connections and transactions that the Prisma client uses; for
 * the paths where the client's own cost would be most of the work. Texts use `?`, which PostgreSQL gets as `$1`, `$2`, ...
 */
export interface Sql {
  readonly dialect: Dialect;
  query(text: string, args: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  execute(text: string, args: readonly SqlValue[]): Promise<number>;
}

/** Runs a SELECT. What the embedded database can answer at once is not waited for. */
export type SelectRows = (text: string, args: readonly SqlValue[]) => Soon<readonly SqlRow[]>;

/** A text with its values, for those that are run together. */
export interface SqlStatement {
  readonly text: string;
  readonly args: readonly SqlValue[];
}

/** PostgreSQL needs the texts with numbered places; SQLite takes them as they are. */
export function sqlOn(queryable: SqlQueryable, numbered: NumberedTexts | undefined): Sql {
  const dialect = numbered ? "postgresql" : "sqlite";
  const prepare = numbered ? postgresQuery.bind(undefined, numbered) : sqliteQuery;
  return {
    dialect,
    async query(text, args) {
      return (await queryable.queryRaw(prepare(text, args))).rows;
    },
    async execute(text, args) {
      return queryable.executeRaw(prepare(text, args));
    },
  };
}

const untyped: ArgType[] = [];

export function sqliteQuery(text: string, args: readonly SqlValue[]) {
  return { sql: text, args: args as SqlValue[], argTypes: untyped };
}

const anyType: ArgType = { scalarType: "unknown", arity: "scalar" };

/** Texts with their places numbered, by the text with `?`. */
export type NumberedTexts = BoundedCache<string>;

export function createNumberedTexts(caches: Caches): NumberedTexts {
  return caches.create<string>("SQL texts", 16 * megabyte, textBytes);
}

function postgresQuery(numberedTexts: NumberedTexts, text: string, args: readonly SqlValue[]) {
  let sql = numberedTexts.get(text);
  if (sql === undefined) {
    let position = 0;
    sql = text.replaceAll("?", () => `$${++position}`);
    numberedTexts.set(text, sql);
  }
  return { sql, args: args as SqlValue[], argTypes: args.map(() => anyType) };
}

/** Microseconds since 1970 by the database's own clock, which all its servers share. */
export const nowUsSql: Readonly<Record<Dialect, string>> = {
  sqlite: "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
  postgresql: "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
};

/** `(?,?),(?,?)` for so many rows of so many values. */
export function placeholders(rows: number, columns: number): string {
  const row = `(${Array(columns).fill("?").join(",")})`;
  return Array(rows).fill(row).join(",");
}

/** `?,?,?` for a list of values. */
export function list(count: number): string {
  return Array(count).fill("?").join(",");
}

/** The drivers give 64-bit integers as numbers, strings or bigints. */
export function asBigInt(value: unknown): bigint {
  return BigInt(value as string | number | bigint);
}

export function asBuffer(value: unknown): Buffer {
  if (Buffer.isBuffer(value)) return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`expected bytes, not ${typeof value}`);
}
