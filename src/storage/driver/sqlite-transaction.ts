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
  private isOpen = true;

  constructor(
    private readonly connection: SqliteConnection,
    private readonly file: DatabaseFile | undefined,
    private readonly leave: () => void,
  ) {}

  async queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    this.assertOpen();
    try {
      return this.connection.query(query);
    } catch (error) {
      throw adapterError(error);
    }
  }

  async executeRaw(query: SqlQuery): Promise<number> {
    this.assertOpen();
    try {
      return this.connection.execute(query);
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
      this.assertOpen();
      this.file?.assertInPlace();
      this.connection.execute(statement("COMMIT"));
      this.file?.assertInPlace();
    } catch (error) {
      throw commitError(error);
    } finally {
      this.end();
    }
  }

  async rollback(): Promise<void> {
    this.end();
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
  private end(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    try {
      if (this.connection.isTransaction) this.connection.execute(statement("ROLLBACK"));
    } finally {
      this.leave();
    }
  }

  /** Statements after SQLite ended the transaction would be committed one by one, so they are refused. */
  private assertOpen(): void {
    if (this.isOpen && this.connection.isTransaction) return;
    const cause = this.isOpen
      ? "SQLite rolled it back or raw SQL ended it"
      : "it was committed or rolled back";
    throw new DriverAdapterError({ kind: "TransactionAlreadyClosed", cause });
  }
}
