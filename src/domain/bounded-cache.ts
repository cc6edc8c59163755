import { LRUCache } from "lru-cache";
import { textBytes } from "./memory-size.js";

/** What keeps things in memory, and how much of them: for tests, and for whoever looks at the server's memory. */
export interface MemoryUse {
  readonly name: string;
  readonly maxBytes: number;
  readonly bytes: number;
  readonly entries: number;
}

/** What an entry costs beside its key and its value: its places in the table and in the order of use. */
const entryBytes = 160;

/**
 * Keeps values by their key, and never more than so many bytes of them: what was used least lately gives way. A value that is
 * larger than the bound is not kept. `sizeOf` says what a value takes in memory, rather too much than too little; keys are added to it.
 */
export class BoundedCache<Value extends {}> implements MemoryUse {
  private readonly kept: LRUCache<string, Value>;

  constructor(
    readonly name: string,
    readonly maxBytes: number,
    sizeOf: (value: Value) => number,
    onDrop?: (value: Value) => void,
  ) {
    this.kept = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: (value, key) => Math.ceil(sizeOf(value)) + textBytes(key) + entryBytes,
      ...(onDrop ? { dispose: onDrop } : {}),
    });
  }

  get bytes(): number {
    return this.kept.calculatedSize;
  }

  get entries(): number {
    return this.kept.size;
  }

  get(key: string): Value | undefined {
    return this.kept.get(key);
  }

  /** Looks without use: what is looked at does not stay longer for it. */
  peek(key: string): Value | undefined {
    return this.kept.peek(key);
  }

  set(key: string, value: Value): void {
    this.kept.set(key, value);
  }

  delete(key: string): void {
    this.kept.delete(key);
  }

  /** Drops the entries of which this is true. */
  deleteWhere(isGone: (value: Value, key: string) => boolean): void {
    for (const [key, value] of [...this.kept.entries()]) if (isGone(value, key)) this.kept.delete(key);
  }

  clear(): void {
    this.kept.clear();
  }
}
