import { PrismaPg } from "@prisma/adapter-pg";
import type {
  SqlDriverAdapter,
  SqlQuery,
  SqlQueryable,
  SqlResultSet,
  Transaction,
  TransactionOptions,
} from "@prisma/driver-adapter-utils";
import { commitError, postgresError } from "./postgres-errors.js";
import { openPool, type PostgresPoolOptions } from "./postgres-pool.js";

/** Prisma's adapter on a pool of ours. Every failure has a kind that both the Prisma client and hand-written SQL go by. */
export async function connectPostgres(options: PostgresPoolOptions): Promise<SqlDriverAdapter> {
  const factory = new PrismaPg(openPool(options), { disposeExternalPool: true });
  return new PostgresAdapter((await factory.connect()) as unknown as SqlDriverAdapter);
}

class PostgresQueryable implements SqlQueryable {
  readonly provider = "postgres";
  readonly adapterName: string;

  constructor(private readonly queryable: SqlQueryable) {
    this.adapterName = queryable.adapterName;
  }

  queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    return this.queryable.queryRaw(query).catch(fail(query));
  }

  executeRaw(query: SqlQuery): Promise<number> {
    return this.queryable.executeRaw(query).catch(fail(query));
  }
}

class PostgresAdapter extends PostgresQueryable implements SqlDriverAdapter {
  private disposed: Promise<void> | undefined;

  constructor(private readonly adapter: SqlDriverAdapter) {
    super(adapter);
  }

  async startTransaction(...args: Parameters<SqlDriverAdapter["startTransaction"]>): Promise<Transaction> {
    try {
      return new PostgresTransaction(await this.adapter.startTransaction(...args));
    } catch (error) {
      throw postgresError(error);
    }
  }

  executeScript(script: string): Promise<void> {
    return this.adapter.executeScript(script);
  }

  getConnectionInfo() {
    return this.adapter.getConnectionInfo!();
  }

  /** A client that disconnects disposes of its adapter, if it ever used it; a pool fails when it is ended again. */
  dispose(): Promise<void> {
    this.disposed ??= this.adapter.dispose();
    return this.disposed;
  }
}

class PostgresTransaction extends PostgresQueryable implements Transaction {
  readonly options: TransactionOptions;

  constructor(private readonly transaction: Transaction) {
    super(transaction);
    this.options = transaction.options;
  }

  commit(): Promise<void> {
    return this.transaction.commit();
  }

  rollback(): Promise<void> {
    return this.transaction.rollback();
  }

  createSavepoint(name: string): Promise<void> {
    return this.transaction.createSavepoint!(name);
  }

  rollbackToSavepoint(name: string): Promise<void> {
    return this.transaction.rollbackToSavepoint!(name);
  }

  releaseSavepoint(name: string): Promise<void> {
    return this.transaction.releaseSavepoint!(name);
  }
}

function fail({ sql }: SqlQuery) {
  return (error: unknown): never => {
    const known = postgresError(error);
    throw sql === "COMMIT" ? commitError(known) : known;
  };
}
