import { LRUCache } from "lru-cache";
import type { StoredTurnMessages, ThreadSegment, ThreadStore } from "../storage/ledger/thread-store.js";

const pageTurns = 64;
/** One read of the database gives about so much: little enough to hold up nobody, and to be sent before it grows old. */
const targetReadBytes = 256 * 1024;
/** How large turns are is known from those before them: few at first, and never so many that larger ones fill the memory. */
const firstReadTurns = 8;
const maxReadTurns = 512;

/** Turns of one branch from a depth on, without gaps. */
interface Page {
  readonly fromDepth: number;
  readonly turns: readonly StoredTurnMessages[];
  readonly bytes: number;
}

/**
 * Messages of finished turns, which never change, so a copy in memory is as good as the database. Bounded by bytes.
 * An erasure is the one exception: it makes a new epoch, and what was kept of the tenant before is forgotten.
 */
export class TurnCache {
  private readonly pages: LRUCache<string, Page> | undefined;
  private readonly epochs = new Map<string, number>();

  constructor(
    private readonly threads: ThreadStore,
    maxBytes: number,
  ) {
    this.pages =
      maxBytes > 0
        ? new LRUCache({ maxSize: maxBytes, sizeCalculation: (page: Page) => page.bytes + 1_000 })
        : undefined;
  }

  /** The turns of a segment, the oldest first, a few at a time. */
  async *read(
    tenantId: string,
    epoch: number,
    segment: ThreadSegment,
  ): AsyncGenerator<readonly StoredTurnMessages[]> {
    this.enter(tenantId, epoch);
    let readAhead = firstReadTurns;
    for (let depth = segment.fromDepth; depth <= segment.toDepth; ) {
      const cached = this.cached(tenantId, segment, depth);
      if (cached.length > 0) {
        yield cached;
        depth = cached.at(-1)!.depth + 1;
        continue;
      }
      const toDepth = Math.min(segment.toDepth, depth + readAhead - 1);
      const turns = await this.threads.readSegment(tenantId, { ...segment, fromDepth: depth, toDepth });
      // An erasure in the middle of a read: the rest of the thread is gone.
      if (turns.length === 0) return;
      if (this.epochs.get(tenantId) === epoch) this.keep(tenantId, segment.branchId, turns);
      yield turns;
      depth = toDepth + 1;
      const bytesPerTurn = turns.reduce((sum, turn) => sum + size(turn), 0) / turns.length;
      readAhead = Math.max(1, Math.min(maxReadTurns, Math.floor(targetReadBytes / bytesPerTurn)));
    }
  }

  private enter(tenantId: string, epoch: number): void {
    const known = this.epochs.get(tenantId);
    if (known === epoch) return;
    if (known !== undefined && known < epoch) {
      for (const key of this.pages?.keys() ?? []) if (key.startsWith(`${tenantId}/`)) this.pages?.delete(key);
    }
    if (known === undefined || known < epoch) this.epochs.set(tenantId, epoch);
  }

  private cached(tenantId: string, segment: ThreadSegment, depth: number): readonly StoredTurnMessages[] {
    const page = this.pages?.get(pageKey(tenantId, segment.branchId, depth));
    if (!page || depth < page.fromDepth) return [];
    return page.turns.slice(depth - page.fromDepth, segment.toDepth - page.fromDepth + 1);
  }

  private keep(tenantId: string, branchId: string, turns: readonly StoredTurnMessages[]): void {
    if (!this.pages) return;
    for (let at = 0; at < turns.length; ) {
      const depth = turns[at]!.depth;
      const key = pageKey(tenantId, branchId, depth);
      let end = at + 1;
      while (end < turns.length && pageKey(tenantId, branchId, turns[end]!.depth) === key) end++;
      const added = turns.slice(at, end);
      const page = this.pages.peek(key);
      const joined = page && page.fromDepth + page.turns.length === depth ? [...page.turns, ...added] : added;
      // A reader of the page's end must not push out what is known of its beginning.
      if (!page || joined.length > page.turns.length) {
        this.pages.set(key, {
          fromDepth: joined[0]!.depth,
          turns: joined,
          bytes: joined.reduce((sum, turn) => sum + size(turn), 0),
        });
      }
      at = end;
    }
  }
}

function pageKey(tenantId: string, branchId: string, depth: number): string {
  return `${tenantId}/${branchId}/${Math.floor((depth - 1) / pageTurns)}`;
}

function size(turn: StoredTurnMessages): number {
  return turn.wires.reduce((sum, wire) => sum + wire.length, 200);
}
