import { type ColumnType, DriverAdapterError } from "@prisma/driver-adapter-utils";
import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import { megabyte, textBytes } from "../../domain/memory-size.js";
import type { Database, Statement } from "./database-sync.js";
import { hasSecondStatement, leadingWord } from "./sql-text.js";
import { declaredType } from "./sqlite-columns.js";
import { writtenTable } from "./table-versions.js";

export interface ResultColumns {
  readonly names: readonly string[];
  readonly declared: readonly (ColumnType | undefined)[];
}

export interface PreparedStatement {
  readonly sql: string;
  readonly statement: Statement;
  /** Whether the driver's count of changed rows is this statement's; else it is that of an earlier one. */
  readonly countsChanges: boolean;
  /** Whether other statements may read differently prepared after this one. */
  readonly changesSchema: boolean;
  /** Whether running it once more does no harm. */
  readonly repeatable: boolean;
  /** The table that it writes to, if it writes. */
  readonly writes: string | undefined;
  /** Asked for with the first query, since the driver takes longer to answer than to prepare. */
  columns: ResultColumns | undefined;
  /** Whether integers are read as bigint: exact, and told apart from floats, but slower. */
  bigints: boolean;
}

const changing = new Set(["insert", "update", "delete", "replace", "with"]);
const plain = new Set(["select", "values", "explain", "savepoint", "release", "begin", "commit", "rollback"]);

const maxBytes = 32 * megabyte;

/** As measured with SQLite: a statement's program takes about 45 bytes for each character of its text. */
function statementBytes({ sql }: PreparedStatement): number {
  return 6_000 + 48 * sql.length + textBytes(sql);
}

/** Prepared statements by their SQL; the least recently used give way. Statements never outlive one call, so any may go. */
export class StatementCache {
  private readonly statements: BoundedCache<PreparedStatement>;

  constructor(
    private readonly database: Database,
    name: string,
    caches: Caches,
  ) {
    this.statements = caches.create<PreparedStatement>(name, maxBytes, statementBytes, ({ statement }) =>
      statement.close?.(),
    );
  }

  prepare(sql: string): PreparedStatement {
    const known = this.statements.get(sql);
    if (known !== undefined) return known;
    if (hasSecondStatement(sql)) {
      throw new DriverAdapterError({ kind: "InvalidInputValue", message: "more than one SQL statement" });
    }
    const statement = this.database.prepare(sql);
    statement.setReturnArrays(true);
    const word = leadingWord(sql);
    const countsChanges = changing.has(word);
    const prepared = {
      sql,
      statement,
      countsChanges,
      changesSchema: !countsChanges && !plain.has(word),
      repeatable: word === "select" || word === "values",
      writes: writtenTable(sql),
      columns: undefined,
      bigints: false,
    };
    this.statements.set(sql, prepared);
    return prepared;
  }

  clear(): void {
    this.statements.clear();
  }
}

/** What the statement returns; settles how its integers are read. */
export function describe(prepared: PreparedStatement): ResultColumns {
  const columns = prepared.statement.columns();
  const declared = columns.map(({ type }) => declaredType(type));
  prepared.columns = { names: columns.map(({ name }) => name), declared };
  readBigInts(prepared, !prepared.repeatable || declared.includes(undefined));
  return prepared.columns;
}

export function readBigInts(prepared: PreparedStatement, enabled: boolean): void {
  prepared.bigints = enabled;
  prepared.statement.setReadBigInts(enabled);
}
