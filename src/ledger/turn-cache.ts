import type { BoundedCache } from "../domain/bounded-cache.js";
import type { Caches } from "../domain/caches.js";
import { bufferBytes, megabyte, ownConcat, textBytes } from "../domain/memory-size.js";
import type { StoredTurn } from "../domain/stored-turn.js";
import type { ThreadSegment, ThreadStore } from "../storage/ledger/thread-store.js";

const pageTurns = 64;
/** Turns of a larger page are large enough to be sent by themselves. */
const maxJoinedBytes = megabyte;
/** One read of the database gives about so much: little enough to hold up nobody, and to be sent before it grows old. */
const targetReadBytes = 256 * 1024;
/** How large turns are is known from those before them: few at first, and never so many that larger ones fill the memory. */
const firstReadTurns = 8;
const maxReadTurns = 512;

/** Turns of one branch from a depth on, without gaps. */
interface Page {
  readonly fromDepth: number;
  readonly turns: readonly StoredTurn[];
  readonly bytes: number;
}

/**
 * Messages of finished turns, which never change, so a copy in memory is as good as the database. Bounded by bytes.
 * An erasure is the one exception: it makes a new epoch, and what was kept of the tenant before is forgotten.
 */
export class TurnCache {
  private readonly pages: BoundedCache<Page> | undefined;
  /** The newest epoch of each tenant. */
  private readonly epochs: BoundedCache<{ readonly epoch: number }>;

  constructor(
    private readonly threads: ThreadStore,
    maxBytes: number,
    caches: Caches,
  ) {
    this.pages =
      maxBytes > 0
        ? caches.create<Page>("finished turns", maxBytes, ({ bytes }) => bytes + 1_000)
        : undefined;
    this.epochs = caches.create("erasure epochs", megabyte, () => 32);
  }

  /** The turns of a segment, the oldest first, a few at a time. */
  async *read(
    tenantId: string,
    epoch: number,
    segment: ThreadSegment,
  ): AsyncGenerator<readonly StoredTurn[]> {
    this.enter(tenantId, epoch);
    let readAhead = firstReadTurns;
    for (let depth = segment.fromDepth; depth <= segment.toDepth; ) {
      const cached = this.cached(`${tenantId}/${epoch}`, segment, depth);
      if (cached.length > 0) {
        yield cached;
        depth = cached.at(-1)!.depth + 1;
        continue;
      }
      const toDepth = Math.min(segment.toDepth, depth + readAhead - 1);
      const turns = await this.threads.readSegment(tenantId, { ...segment, fromDepth: depth, toDepth });
      // An erasure in the middle of a read: the rest of the thread is gone.
      if (turns.length === 0) return;
      if (this.epochs.get(tenantId)?.epoch === epoch)
        this.keep(`${tenantId}/${epoch}`, segment.branchId, turns);
      yield turns;
      depth = toDepth + 1;
      const bytesPerTurn = turns.reduce((sum, turn) => sum + size(turn), 0) / turns.length;
      readAhead = Math.max(1, Math.min(maxReadTurns, Math.floor(targetReadBytes / bytesPerTurn)));
    }
  }

  /** The turns of a segment where all of them are in memory. */
  kept(tenantId: string, epoch: number, segment: ThreadSegment): readonly StoredTurn[] | undefined {
    this.enter(tenantId, epoch);
    const turns = this.cached(`${tenantId}/${epoch}`, segment, segment.fromDepth);
    return turns.length === segment.toDepth - segment.fromDepth + 1 ? turns : undefined;
  }

  private enter(tenantId: string, epoch: number): void {
    const known = this.epochs.get(tenantId)?.epoch;
    if (known !== undefined && known >= epoch) return;
    if (known !== undefined) this.pages?.deleteWhere((_, key) => key.startsWith(`${tenantId}/`));
    this.epochs.set(tenantId, { epoch });
  }

  private cached(scope: string, segment: ThreadSegment, depth: number): readonly StoredTurn[] {
    const page = this.pages?.get(pageKey(scope, segment.branchId, depth));
    if (!page || depth < page.fromDepth) return [];
    return page.turns.slice(depth - page.fromDepth, segment.toDepth - page.fromDepth + 1);
  }

  private keep(scope: string, branchId: string, turns: readonly StoredTurn[]): void {
    if (!this.pages) return;
    for (let at = 0; at < turns.length; ) {
      const depth = turns[at]!.depth;
      const key = pageKey(scope, branchId, depth);
      let end = at + 1;
      while (end < turns.length && pageKey(scope, branchId, turns[end]!.depth) === key) end++;
      const added = turns.slice(at, end);
      const page = this.pages.peek(key);
      const joined = page && page.fromDepth + page.turns.length === depth ? [...page.turns, ...added] : added;
      // A reader of the page's end must not push out what is known of its beginning.
      if (!page || joined.length > page.turns.length) {
        const bytes = joined.reduce((sum, turn) => sum + size(turn), 0);
        const isWhole = joined.length === pageTurns && bytes <= maxJoinedBytes;
        this.pages.set(key, {
          fromDepth: joined[0]!.depth,
          turns: isWhole ? sideBySide(joined) : joined,
          bytes,
        });
      }
      at = end;
    }
  }
}

/** The same turns with their bytes one after the other in memory, so that they are sent as one piece. */
function sideBySide(turns: readonly StoredTurn[]): readonly StoredTurn[] {
  const all = ownConcat(turns.flatMap(({ wires }) => wires));
  let at = 0;
  const next = ({ length }: Buffer) => {
    at += length;
    return all.subarray(at - length, at);
  };
  return turns.map((turn) => ({ ...turn, wires: turn.wires.map(next) }));
}

/** The scope is a tenant in an epoch: pages of an epoch that has passed are never found again. */
function pageKey(scope: string, branchId: string, depth: number): string {
  return `${scope}/${branchId}/${Math.floor((depth - 1) / pageTurns)}`;
}

/** The stored bytes, their index, and what is read from that and kept with the turn (turn-facts.ts). */
function size(turn: StoredTurn): number {
  const indexes = turn.indexes.reduce(
    (sum, index) => sum + textBytes(index) + factsPerCharacter * index.length,
    0,
  );
  return turn.wires.reduce((sum, wire) => sum + bufferBytes(wire), 800 + indexes);
}

/** A message takes fourteen characters of the index or more, and about a hundred and thirty bytes once it is read. */
const factsPerCharacter = 10;
