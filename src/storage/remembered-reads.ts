import type { BoundedCache } from "../domain/bounded-cache.js";
import type { Caches } from "../domain/caches.js";
import { megabyte } from "../domain/memory-size.js";
import type { Soon } from "../domain/soon.js";
import type { SqliteAdapter } from "./driver/sqlite-adapter.js";
import { type Sql, type SqlRow, sqliteQuery } from "./sql.js";
import { asStorageError } from "./storage-error.js";

/** A SELECT that is asked again and again, while what it reads seldom changes. */
export interface RememberedSelect<Value> {
  /** All that it reads. No trigger and no cascade may write to them. */
  readonly tables: readonly string[];
  readonly text: string;
  readonly read: (rows: readonly SqlRow[]) => Value;
}

/** What a SELECT gives for its values: at once where that is known. */
export type RememberedRead<Value> = (...args: readonly string[]) => Soon<Value>;

/** Asks each time: PostgreSQL may have been written to by any server. */
export function readAnew<Value>(sql: Sql, { text, read }: RememberedSelect<Value>): RememberedRead<Value> {
  return async (...args) => {
    try {
      return read(await sql.query(text, args));
    } catch (error) {
      throw asStorageError(error);
    }
  };
}

interface Kept {
  readonly version: number;
  readonly value: unknown;
  readonly rows: number;
}

const maxBytes = 4 * megabyte;
const rowBytes = 1_024;

/**
 * Answers of SELECTs on SQLite, kept for as long as nobody writes to their tables: this process, whose writes are counted by table, or
 * another one, of which SQLite tells. Most tables that an assembly reads change seldom, and asking them is most of what it reads.
 */
export class RememberedReads {
  /** How often others were found to have written anything. */
  private othersVersion = 0;
  private othersMark: number | undefined;
  private isLooked = false;
  private readonly kept: BoundedCache<Kept>;
  private selects = 0;

  constructor(
    private readonly writer: SqliteAdapter,
    private readonly reader: Sql,
    caches: Caches,
  ) {
    this.kept = caches.create<Kept>("remembered reads", maxBytes, ({ rows }) => 128 + rowBytes * rows);
  }

  select<Value>(select: RememberedSelect<Value>): RememberedRead<Value> {
    const { tables, text, read } = select;
    const prefix = `${this.selects++}\0`;
    const readThrough = readAnew(this.reader, select);
    return (...args) => {
      const key = prefix + args.join("\0");
      const version = this.versionOf(tables);
      const known = this.kept.get(key);
      if (known && known.version === version) return known.value as Value;
      // On the writer's connection nobody is inside a transaction then: what is read is committed, and what will be is counted later.
      const found = this.tryQuery(text, args);
      if (!found) return readThrough(...args);
      const value = read(found.rows);
      this.kept.set(key, { version, value, rows: found.rows.length });
      return value;
    };
  }

  private tryQuery(text: string, args: readonly string[]) {
    try {
      return this.writer.tryQuery(sqliteQuery(text, args));
    } catch (error) {
      throw asStorageError(error);
    }
  }

  private versionOf(tables: readonly string[]): number {
    this.lookAtOthers();
    return this.writer.versions.of(tables) + this.othersVersion;
  }

  /** Once in each run of code between two events: nobody can have heard of another's commit without an event. */
  private lookAtOthers(): void {
    if (this.isLooked) return;
    this.isLooked = true;
    process.nextTick(() => {
      this.isLooked = false;
    });
    const mark = this.writer.othersMark();
    if (mark === undefined || mark !== this.othersMark) this.othersVersion++;
    this.othersMark = mark;
  }
}
