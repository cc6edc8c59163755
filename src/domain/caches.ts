import { BoundedCache, type MemoryUse } from "./bounded-cache.js";

/** All that one engine keeps in memory, by name. */
export class Caches {
  private readonly known: MemoryUse[] = [];

  /** `share` makes every bound smaller or larger: the part of the usual sizes that there is to be. */
  constructor(private readonly share = 1) {}

  get uses(): readonly MemoryUse[] {
    return this.known;
  }

  create<Value extends {}>(
    name: string,
    maxBytes: number,
    sizeOf: (value: Value) => number,
    onDrop?: (value: Value) => void,
  ): BoundedCache<Value> {
    const cache = new BoundedCache<Value>(name, this.bound(maxBytes), sizeOf, onDrop);
    this.add(cache);
    return cache;
  }

  /** What is bounded by its own means, as a queue is. */
  add(use: MemoryUse): void {
    this.known.push(use);
  }

  bound(maxBytes: number): number {
    return Math.max(1, Math.floor(maxBytes * this.share));
  }
}
