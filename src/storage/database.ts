import { join } from "node:path";
import type { SqlDriverAdapter, SqlDriverAdapterFactory, Transaction } from "@prisma/driver-adapter-utils";
import { packageRoot } from "../config/package-root.js";
import { Caches } from "../domain/caches.js";
import { explicitSslMode } from "./driver/explicit-ssl-mode.js";
import { applyMigrations } from "./driver/migrate.js";
import { prepareDatabaseFile } from "./driver/prepare-database-file.js";
import { type SqliteAdapter, SqliteAdapterFactory } from "./driver/sqlite-adapter.js";
import { isBusy } from "./driver/sqlite-errors.js";
import { PrismaClient } from "./gen/sqlite/client.js";
import { openError } from "./open-error.js";
import { prepareTermIndex } from "./recall/term-index.js";
import { type RememberedRead, RememberedReads, type RememberedSelect, readAnew } from "./remembered-reads.js";
import {
  createNumberedTexts,
  type Dialect,
  type NumberedTexts,
  type SelectRows,
  type Sql,
  type SqlStatement,
  sqliteQuery,
  sqlOn,
} from "./sql.js";
import { sqlitePath } from "./sqlite-path.js";
import { asStorageError, isRaceLost, raceRetries } from "./storage-error.js";

export interface DatabaseOptions {
  /** file:<path> or postgresql://... */
  readonly url: string;
  readonly poolSize: number;
  /** How long PostgreSQL may take to connect, and to answer a statement. */
  readonly timeoutMs?: number;
  readonly caches?: Caches;
}

const defaultTimeoutMs = 30_000;

/** The client inside a transaction. Both providers' clients have the same shape: they are made from one model. */
export type PrismaTransaction = Omit<
  PrismaClient,
  "$connect" | "$disconnect" | "$on" | "$transaction" | "$extends"
>;

/** One database, opened: the only way to it. Reads go to readers, writes run in transactions on the writer. */
export interface Database {
  readonly dialect: Dialect;
  readonly reader: PrismaClient;
  readonly sqlReader: Sql;
  /** The same for a SELECT on a path where every wait counts. */
  readonly select: SelectRows;
  /** A SELECT that is asked again only where what it reads may have changed. */
  remember<Value>(select: RememberedSelect<Value>): RememberedRead<Value>;
  /**
   * The same text as before only if nobody else committed anything since. Costs the same however much was written.
   * What this process itself commits may change it (PostgreSQL) or not (SQLite).
   */
  changeMark(): Promise<string>;
  /** Aborted when the database's file was deleted or replaced: from then on every write fails. */
  readonly lost: AbortSignal;
  /** Runs hand-written SQL in one transaction. A throw rolls it back. */
  sqlTransaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /**
   * Runs statements in one transaction, without waiting for the disk: what was committed survives the end of this process at any
   * moment, but perhaps not that of the machine (SQLite) or of the database server (PostgreSQL). Gives the number of rows that they
   * changed.
   */
  unsyncedWrite(statements: readonly SqlStatement[]): Promise<number>;
  /** Runs the Prisma client in one transaction, again when another writer was faster. A throw rolls it back. */
  transaction<T>(work: (tx: PrismaTransaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Plans of queries that the client keeps, by their shape. All of the engine together have fewer. */
const queryPlanCacheMaxSize = 200;
const transactionLimits = { maxWait: 30_000, timeout: 120_000 };

/** Throws a QuireError whose message says what is wrong with the database, and what to do. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, caches = new Caches() } = options;
  try {
    const database = url.startsWith("file:")
      ? await openSqlite(sqlitePath(url), caches)
      : await openPostgresql(options, caches);
    await database.sqlTransaction(prepareTermIndex).catch(async (error: unknown) => {
      await database.close();
      throw error;
    });
    return database;
  } catch (error) {
    throw await openError(url, error);
  }
}

function migrationsFolder(dialect: Dialect): string {
  return join(packageRoot, "prisma", dialect, "migrations");
}

async function openSqlite(path: string, caches: Caches): Promise<Database> {
  const takeBack = prepareDatabaseFile(path);
  try {
    await applyMigrations({ provider: "sqlite", path, folder: migrationsFolder("sqlite") });
  } catch (error) {
    // A file that another process has locked is no longer only ours.
    if (!isBusy(error)) takeBack();
    throw error;
  }
  const writer = await new SqliteAdapterFactory({ path, mode: "writer", caches }).connect();
  const reader = await new SqliteAdapterFactory({ path, mode: "reader", caches })
    .connect()
    .catch(async (error: unknown) => {
      await writer.dispose();
      throw error;
    });
  const writerClient = new PrismaClient({ adapter: alwaysThis(writer), queryPlanCacheMaxSize });
  const readerClient = new PrismaClient({ adapter: alwaysThis(reader), queryPlanCacheMaxSize });
  const beside = sqlOn(reader, undefined);
  const select = selectBeside(writer, beside);
  const sqlReader = readerBeside(select, beside);
  const remembered = new RememberedReads(writer, sqlReader, caches);
  return {
    ...assemble(undefined, writer, writerClient, reader, readerClient),
    sqlReader,
    select,
    remember: (select) => remembered.select(select),
    unsyncedWrite: (statements) =>
      writer.writeUnsynced(statements.map(({ text, args }) => sqliteQuery(text, args))),
    lost: writer.file!.lost,
  };
}

/**
 * Reads on the writer's connection while nobody writes. It still has in memory what it wrote, where every commit makes the reader
 * forget all that it had read.
 */
function selectBeside(writer: SqliteAdapter, reader: Sql): SelectRows {
  return (text, args) => writer.tryQuery(sqliteQuery(text, args))?.rows ?? reader.query(text, args);
}

function readerBeside(select: SelectRows, reader: Sql): Sql {
  return {
    ...reader,
    query: async (text, args) => (text.startsWith("SELECT") ? select(text, args) : reader.query(text, args)),
  };
}

async function openPostgresql(options: DatabaseOptions, caches: Caches): Promise<Database> {
  const { poolSize, timeoutMs = defaultTimeoutMs } = options;
  const url = explicitSslMode(options.url);
  const folder = migrationsFolder("postgresql");
  await applyMigrations({ provider: "postgresql", url, connectTimeoutMs: timeoutMs, folder });
  // Loaded only where it is used: it takes as much memory as the embedded database does.
  const { connectPostgres } = await import("./driver/postgres-adapter.js");
  const { PrismaClient: PostgresqlClient } = await import("./gen/postgresql/client.js");
  const adapter = await connectPostgres({ url, size: poolSize, timeoutMs });
  const client = new PostgresqlClient({
    adapter: alwaysThis(adapter),
    queryPlanCacheMaxSize,
  }) as unknown as PrismaClient;
  return assemble(createNumberedTexts(caches), adapter, client, adapter, client);
}

/** Lets a client share a connection that is open already. */
function alwaysThis(adapter: SqlDriverAdapter): SqlDriverAdapterFactory {
  return { provider: adapter.provider, adapterName: adapter.adapterName, connect: async () => adapter };
}

function assemble(
  numbered: NumberedTexts | undefined,
  writer: SqlDriverAdapter,
  writerClient: PrismaClient,
  reader: SqlDriverAdapter,
  readerClient: PrismaClient,
): Database {
  const sqlReader = sqlOn(reader, numbered);
  return {
    dialect: sqlReader.dialect,
    reader: readerClient,
    sqlReader,
    select: (text, args) => sqlReader.query(text, args),
    remember: (select) => readAnew(sqlReader, select),
    changeMark: () => readChangeMark(sqlOn(writer, numbered)),
    lost: new AbortController().signal,
    sqlTransaction: (work) => runSqlTransaction(() => writer.startTransaction(), numbered, work),
    unsyncedWrite: (statements) =>
      runSqlTransaction(
        () => writer.startTransaction(),
        numbered,
        async (sql) => {
          await sql.execute("SET LOCAL synchronous_commit = off", []);
          let rows = 0;
          for (const { text, args } of statements) rows += await sql.execute(text, args);
          return rows;
        },
      ),
    transaction: (work) => runTransaction(writerClient, work),
    async close() {
      await writerClient.$disconnect();
      await readerClient.$disconnect();
      await writer.dispose();
      if (reader !== writer) await reader.dispose();
    },
  };
}

/**
 * SQLite counts for each connection what others committed. PostgreSQL's snapshot names the transactions that are not finished and the
 * first that had not begun: one that commits leaves the list, or is beyond what had begun, so the text differs.
 */
const changeMarkSql = {
  sqlite: "PRAGMA data_version",
  postgresql: "SELECT CAST(pg_current_snapshot() AS TEXT)",
};

async function readChangeMark(writer: Sql): Promise<string> {
  const [row] = await writer.query(changeMarkSql[writer.dialect], []);
  return String(row![0]);
}

async function runSqlTransaction<T>(
  start: () => Promise<Transaction>,
  numbered: NumberedTexts | undefined,
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  const transaction = await start().catch((error: unknown) => {
    throw asStorageError(error);
  });
  const sql = sqlOn(transaction, numbered);
  // Adapters without phantom queries leave COMMIT and ROLLBACK to their caller, and then only give the connection back.
  const isSaid = !transaction.options.usePhantomQuery;
  let result: T;
  try {
    result = await work(sql);
    if (isSaid) await sql.execute("COMMIT", []);
  } catch (error) {
    if (isSaid) await sql.execute("ROLLBACK", []).catch(() => undefined);
    await transaction.rollback().catch(() => undefined);
    throw error;
  }
  await transaction.commit();
  return result;
}

async function runTransaction<T>(
  client: PrismaClient,
  work: (tx: PrismaTransaction) => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await client.$transaction(work, transactionLimits);
    } catch (error) {
      if (!isRaceLost(error) || attempt >= raceRetries) throw asStorageError(error);
    }
  }
}
