import {
  DriverAdapterError,
  type SqlQuery,
  type SqlResultSet,
  type Transaction,
} from "@prisma/driver-adapter-utils";
import type { DatabaseFile } from "./database-file.js";
import { type SqliteConnection, statement } from "./sqlite-connection.js";
import { adapterError, commitError } from "./sqlite-errors.js";

export const adapterName = "quire-sqlite";

/** An open transaction. It holds the connection's gate until it commits or rolls back. */
export class SqliteTransaction implements Transaction {
  readonly provider = "sqlite";
  readonly adapterName = adapterName;
  readonly options = { usePhantomQuery: true };
  readonly #connection: SqliteConnection;
  readonly #file: DatabaseFile | undefined;
  readonly #leave: () => void;
  #open = true;

  constructor(connection: SqliteConnection, file: DatabaseFile | undefined, leave: () => void) {
    this.#connection = connection;
    this.#file = file;
    this.#leave = leave;
  }

  async queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    this.#assertOpen();
    try {
      return this.#connection.query(query);
    } catch (error) {
      throw adapterError(error);
    }
  }

  async executeRaw(query: SqlQuery): Promise<number> {
    this.#assertOpen();
    try {
      return this.#connection.execute(query);
    } catch (error) {
      throw adapterError(error);
    }
  }

  /**
   * The file is looked at before, so that nothing is written where it is lost, and after, so that nothing is acknowledged: what was
   * found in its place after the commit had the commit in it.
   */
  async commit(): Promise<void> {
    try {
      this.#assertOpen();
      this.#file?.assertInPlace();
      this.#connection.execute(statement("COMMIT"));
      this.#file?.assertInPlace();
    } catch (error) {
      throw commitError(error);
    } finally {
      this.#end();
    }
  }

  async rollback(): Promise<void> {
    this.#end();
  }

  async createSavepoint(name: string): Promise<void> {
    await this.executeRaw(statement(`SAVEPOINT ${name}`));
  }

  async rollbackToSavepoint(name: string): Promise<void> {
    await this.executeRaw(statement(`ROLLBACK TO ${name}`));
  }

  async releaseSavepoint(name: string): Promise<void> {
    await this.executeRaw(statement(`RELEASE SAVEPOINT ${name}`));
  }

  /** Rolls back what is left, also after a commit that failed (a deferred foreign key, a full disk). */
  #end(): void {
    if (!this.#open) return;
    this.#open = false;
    try {
      if (this.#connection.isTransaction) this.#connection.execute(statement("ROLLBACK"));
    } finally {
      this.#leave();
    }
  }

  /** Statements after SQLite ended the transaction would be committed one by one, so they are refused. */
  #assertOpen(): void {
    if (this.#open && this.#connection.isTransaction) return;
    const cause = this.#open
      ? "SQLite rolled it back or raw SQL ended it"
      : "it was committed or rolled back";
    throw new DriverAdapterError({ kind: "TransactionAlreadyClosed", cause });
  }
}
