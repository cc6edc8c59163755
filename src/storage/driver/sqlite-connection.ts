import { DriverAdapterError, type SqlQuery, type SqlResultSet } from "@prisma/driver-adapter-utils";
import type { Caches } from "../../domain/caches.js";
import type { Database, SqlValue, Statement } from "./database-sync.js";
import { bindable } from "./sqlite-args.js";
import { columnTypes, convertRows } from "./sqlite-columns.js";
import { isBusy, isOutOfRange } from "./sqlite-errors.js";
import { describe, type PreparedStatement, readBigInts, StatementCache } from "./statement-cache.js";
import { anyTable, TableVersions } from "./table-versions.js";

/** The statement, in the form that the driver interface asks for. */
export function statement(sql: string): SqlQuery {
  return { sql, args: [], argTypes: [] };
}

type Synchronous = "FULL" | "NORMAL";

/** One open database. Calls are synchronous and throw what the driver throws. */
export class SqliteConnection {
  /** What was written on this connection, committed or not. */
  readonly versions = new TableVersions();
  private readonly statements: StatementCache;
  private level: Synchronous;
  private isClosed = false;
  private dataVersion: Statement | undefined;

  constructor(
    private readonly database: Database,
    mode: string,
    private readonly synchronous: Synchronous,
    caches: Caches,
  ) {
    this.level = synchronous;
    this.statements = new StatementCache(database, `statements of the ${mode}`, caches);
  }

  /** False, too, once SQLite itself ended a transaction: disk full, `ON CONFLICT ROLLBACK`, a COMMIT in raw SQL. */
  get isTransaction(): boolean {
    return !this.isClosed && this.database.isTransaction;
  }

  query(query: SqlQuery): SqlResultSet {
    const prepared = this.prepare(query.sql);
    if (!prepared.repeatable) this.setLevel(this.synchronous);
    if (prepared.writes !== undefined) this.versions.wrote(prepared.writes);
    const args = bindable(query);
    let columns = prepared.columns ?? describe(prepared);
    if (columns.names.length === 0) {
      this.runPrepared(prepared, args);
      return { columnNames: [], columnTypes: [], rows: [] };
    }
    const rows = fetchRows(prepared, args);
    const { bigints } = prepared;
    // Another connection changed the schema under a `SELECT *`, and SQLite prepared the statement anew.
    if (rows[0] !== undefined && rows[0].length !== columns.names.length) columns = describe(prepared);
    const types = columnTypes(columns.declared, rows);
    convertRows(rows, types, bigints);
    if (prepared.changesSchema) this.statements.clear();
    return { columnNames: [...columns.names], columnTypes: types, rows };
  }

  execute(query: SqlQuery): number {
    this.requireOpen();
    this.setLevel(this.synchronous);
    return this.runQuery(query);
  }

  /**
   * Runs statements in one transaction, all of them or none, whose commit does not wait for the disk. The level stays so low until
   * anything else is run that could write: `execute`, `query` and `script` are the only other ways, and raise it first.
   */
  executeUnsynced(queries: readonly SqlQuery[]): number {
    this.requireOpen();
    this.setLevel("NORMAL");
    const [only] = queries;
    // A statement by itself is a transaction.
    if (only && queries.length === 1) return this.runQuery(only);
    this.runQuery(statement("BEGIN IMMEDIATE"));
    try {
      let rows = 0;
      for (const query of queries) rows += this.runQuery(query);
      this.runQuery(statement("COMMIT"));
      return rows;
    } finally {
      if (this.isTransaction) this.runQuery(statement("ROLLBACK"));
    }
  }

  /** Changes when another connection has committed something. Undefined where that cannot be said now. */
  othersMark(): number | undefined {
    const database = this.requireOpen();
    this.dataVersion ??= database.prepare("PRAGMA data_version");
    try {
      const [row] = this.dataVersion.all() as { readonly data_version: number }[];
      return row!.data_version;
    } catch (error) {
      if (isBusy(error)) return undefined;
      throw error;
    }
  }

  script(sql: string): void {
    this.requireOpen();
    this.setLevel(this.synchronous);
    this.versions.wrote(anyTable);
    this.database.exec(sql);
    this.statements.clear();
  }

  private runQuery(query: SqlQuery): number {
    return this.runPrepared(this.prepare(query.sql), bindable(query));
  }

  /** Whether commits from now on wait for the disk. Said as text each time: SQLite takes it when it reads a statement, not when it runs it. */
  private setLevel(level: Synchronous): void {
    if (level === this.level) return;
    this.database.exec(`PRAGMA synchronous = ${level}`);
    this.level = level;
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.statements.clear();
    this.dataVersion?.close?.();
    this.database.close();
  }

  private runPrepared(prepared: PreparedStatement, args: readonly SqlValue[]): number {
    if (prepared.writes !== undefined) this.versions.wrote(prepared.writes);
    const { changes } = prepared.statement.run(...args);
    if (prepared.changesSchema) this.statements.clear();
    return prepared.countsChanges ? Number(changes) : 0;
  }

  private prepare(sql: string): PreparedStatement {
    this.requireOpen();
    return this.statements.prepare(sql);
  }

  private requireOpen(): Database {
    if (this.isClosed) throw new DriverAdapterError({ kind: "ConnectionClosed" });
    return this.database;
  }
}

function fetchRows(prepared: PreparedStatement, args: readonly SqlValue[]): unknown[][] {
  try {
    return prepared.statement.all(...args) as unknown[][];
  } catch (error) {
    if (prepared.bigints || !isOutOfRange(error)) throw error;
    readBigInts(prepared, true);
    return prepared.statement.all(...args) as unknown[][];
  }
}
