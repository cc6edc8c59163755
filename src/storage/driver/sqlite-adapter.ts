import { existsSync } from "node:fs";
import {
  type ConnectionInfo,
  DriverAdapterError,
  type IsolationLevel,
  type SqlDriverAdapter,
  type SqlDriverAdapterFactory,
  type SqlQuery,
  type SqlResultSet,
} from "@prisma/driver-adapter-utils";
import { Caches } from "../../domain/caches.js";
import { retryWhileBusy } from "./busy.js";
import { DatabaseFile } from "./database-file.js";
import { openDatabase } from "./database-sync.js";
import { Gate } from "./gate.js";
import { LogFolder } from "./log-folder.js";
import { SqliteConnection, statement } from "./sqlite-connection.js";
import { adapterError, isBusy } from "./sqlite-errors.js";
import {
  openingPragmas,
  type SqliteAdapterOptions,
  type SqliteSettings,
  sqliteDefaults,
} from "./sqlite-options.js";
import { adapterName, SqliteTransaction } from "./sqlite-transaction.js";
import type { TableVersions } from "./table-versions.js";

/**
 * All that connect through one factory (the Prisma client, and code that calls the adapter itself) share one
 * connection, and with it one gate, until it is disposed of.
 */
export class SqliteAdapterFactory implements SqlDriverAdapterFactory {
  readonly provider = "sqlite";
  readonly adapterName = adapterName;
  private readonly settings: SqliteSettings;
  private shared: Promise<SqliteAdapter> | undefined;

  constructor(options: SqliteAdapterOptions) {
    this.settings = { ...sqliteDefaults, caches: new Caches(), ...options };
  }

  connect(): Promise<SqliteAdapter> {
    this.shared ??= openAdapter(this.settings, () => this.forget()).catch((error: unknown) => {
      this.forget();
      throw adapterError(error);
    });
    return this.shared;
  }

  private forget(): void {
    this.shared = undefined;
  }
}

async function openAdapter(settings: SqliteSettings, onDispose: () => void): Promise<SqliteAdapter> {
  const { path, mode, busyTimeoutMs } = settings;
  if (mode === "reader" && !existsSync(path)) {
    throw new DriverAdapterError({ kind: "DatabaseDoesNotExist", db: path });
  }
  const database = openDatabase(path, settings.extensions);
  try {
    await retryWhileBusy(() => database.exec(openingPragmas(settings)), busyTimeoutMs);
  } catch (error) {
    database.close();
    throw error;
  }
  const [row] = database.prepare("PRAGMA page_size").all() as { page_size: number }[];
  const connection = new SqliteConnection(database, mode, settings.synchronous, settings.caches);
  return new SqliteAdapter(connection, { ...settings, pageBytes: row!.page_size }, onDispose);
}

/** What SQLite binds to one statement. Prisma splits lists at 999 values where it is not told, and fails where it may not split: in order. */
const maxBindValues = 32_766;

/** Code that calls the adapter itself may leave out types (`argTypes: []`): arguments then bind as what they are. */
export class SqliteAdapter implements SqlDriverAdapter {
  readonly provider = "sqlite";
  readonly adapterName = adapterName;
  private readonly connection: SqliteConnection;
  private readonly begin: SqlQuery;
  private readonly busyTimeoutMs: number;
  private readonly gate: Gate;
  private readonly onDispose: () => void;
  /** Of a writer: a reader has nothing to lose. */
  readonly file: DatabaseFile | undefined;
  /** Of a writer, too. */
  readonly log: LogFolder | undefined;
  private isDisposed = false;

  constructor(
    connection: SqliteConnection,
    settings: SqliteSettings & { readonly pageBytes: number },
    onDispose: () => void,
  ) {
    const { path, mode, pageBytes, logPages } = settings;
    this.connection = connection;
    // A deferred BEGIN that reads first cannot always become a writer later; a reader has nothing to lock.
    this.begin = statement(mode === "writer" ? "BEGIN IMMEDIATE" : "BEGIN");
    this.busyTimeoutMs = settings.busyTimeoutMs;
    this.gate = new Gate(settings.gateTimeoutMs);
    this.onDispose = onDispose;
    this.file = mode === "writer" ? new DatabaseFile(path) : undefined;
    this.log = mode === "writer" ? new LogFolder(path, pageBytes, logPages, this.gate) : undefined;
  }

  getConnectionInfo(): ConnectionInfo {
    return { maxBindValues, supportsRelationJoins: false };
  }

  queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    return this.alone(() => this.connection.query(query), this.busyTimeoutMs);
  }

  /** What a SELECT gives, at once; undefined while somebody is inside, or another process holds a lock. */
  tryQuery(query: SqlQuery): SqlResultSet | undefined {
    if (!this.gate.tryEnter()) return undefined;
    try {
      return this.connection.query(query);
    } catch (error) {
      if (isBusy(error)) return undefined;
      throw adapterError(error);
    } finally {
      this.gate.leave();
    }
  }

  /** What was written on this connection, table by table. */
  get versions(): TableVersions {
    return this.connection.versions;
  }

  /** Changes when another connection has committed something. Undefined where that cannot be said now. */
  othersMark(): number | undefined {
    try {
      return this.connection.othersMark();
    } catch (error) {
      throw adapterError(error);
    }
  }

  executeRaw(query: SqlQuery): Promise<number> {
    return this.alone(() => this.connection.execute(query), this.busyTimeoutMs);
  }

  /** A script that found the database locked half way is not tried again. */
  executeScript(script: string): Promise<void> {
    return this.alone(() => this.connection.script(script), 0);
  }

  async startTransaction(isolationLevel?: IsolationLevel): Promise<SqliteTransaction> {
    if (isolationLevel !== undefined && isolationLevel !== "SERIALIZABLE") {
      throw new DriverAdapterError({ kind: "InvalidIsolationLevel", level: isolationLevel });
    }
    this.file?.assertNotLost();
    if (!this.gate.tryEnter()) await this.gate.enter();
    return this.beginTransaction(() => {
      this.gate.leave();
      this.log?.look();
    });
  }

  /**
   * Runs statements in one transaction whose commit does not wait for the disk. It is in the log when it is acknowledged, and so
   * survives the end of this process; of the machine only once a later commit has waited.
   */
  async writeUnsynced(queries: readonly SqlQuery[]): Promise<number> {
    this.file?.assertNotLost();
    if (!this.gate.tryEnter()) await this.gate.enter();
    try {
      const done = retryWhileBusy(() => this.connection.executeUnsynced(queries), this.busyTimeoutMs);
      const rows = done instanceof Promise ? await done : done;
      this.file?.assertLatelyInPlace();
      return rows;
    } catch (error) {
      throw adapterError(error);
    } finally {
      this.gate.leave();
      this.log?.look();
    }
  }

  /** Closes the connection, rolls back what is open, turns away what waits; a second call does nothing. */
  async dispose(): Promise<void> {
    if (this.isDisposed) return;
    this.isDisposed = true;
    this.onDispose();
    this.connection.close();
    this.gate.refuse(new DriverAdapterError({ kind: "ConnectionClosed" }));
    await this.log?.close();
  }

  private async beginTransaction(leave: () => void): Promise<SqliteTransaction> {
    try {
      const begun = retryWhileBusy(() => this.connection.execute(this.begin), this.busyTimeoutMs);
      if (begun instanceof Promise) await begun;
    } catch (error) {
      leave();
      throw adapterError(error);
    }
    return new SqliteTransaction(this.connection, this.file, leave);
  }

  private async alone<T>(work: () => T, busyTimeoutMs: number): Promise<T> {
    if (!this.gate.tryEnter()) await this.gate.enter();
    try {
      const done = retryWhileBusy(work, busyTimeoutMs);
      // What is done already is not waited for: whoever comes next in this turn of the event loop finds the gate open.
      const result = done instanceof Promise ? await done : done;
      if (this.connection.isTransaction) this.refuseOpenTransaction();
      return result;
    } catch (error) {
      throw adapterError(error);
    } finally {
      this.gate.leave();
    }
  }

  /** Statements of others would join a transaction that raw SQL left open. */
  private refuseOpenTransaction(): never {
    this.connection.execute(statement("ROLLBACK"));
    throw new DriverAdapterError({ kind: "InvalidInputValue", message: "raw SQL left a transaction open" });
  }
}
