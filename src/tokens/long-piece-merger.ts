import { RankBuckets } from "./rank-buckets.js";
import { NO_RANK, type RankTable } from "./rank-table.js";

/** Working memory for pieces up to this is kept; above it, it is made for the piece and dropped. */
const KEPT_BYTES = 2 ** 16;

/**
 * Merges a piece in time proportional to its length.
 *
 * The rule of byte pair encoding is: merge the pair of the lowest rank, the leftmost among equals, and look
 * again. In both vocabularies every merge that leads to a token has a lower rank than the token, so a merge
 * never yields a pair of a rank already passed: ranks can be taken in ascending order from buckets instead of
 * a heap. Within a rank the order matters only where pairs overlap, as in "aaa": such a chain is merged from
 * its left end.
 */
export class LongPieceMerger {
  private readonly table: RankTable;
  private readonly buckets: RankBuckets;
  // Parts are a doubly linked list, each named by the offset of its first byte in the piece.
  private next = new Int32Array(0);
  private previous = new Int32Array(0);
  private tokens = new Int32Array(0);
  /** The rank of the part together with its follower. A bucket's entry that disagrees is out of date. */
  private pairRanks = new Int32Array(0);

  constructor(table: RankTable) {
    this.table = table;
    this.buckets = new RankBuckets(table.size);
  }

  /** How many tokens bytes[start, end) merges into. */
  count(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length > this.next.length) this.makeRoom(Math.max(length, KEPT_BYTES));
    this.buckets.begin();
    this.begin(bytes, start, length);
    let parts = length;
    const buckets = this.buckets;
    for (let rank = buckets.takeRank(); rank >= 0; rank = buckets.takeRank()) {
      for (let part = buckets.takePosition(rank); part >= 0; part = buckets.takePosition(rank)) {
        parts -= this.mergeChain(rank, part, bytes, start, length);
      }
    }
    if (length > KEPT_BYTES) this.makeRoom(0);
    return parts;
  }

  private begin(bytes: Uint8Array, start: number, length: number): void {
    for (let i = 0; i < length; i++) {
      const byte = bytes[start + i]!;
      this.next[i] = i + 1;
      this.previous[i] = i - 1;
      this.tokens[i] = this.table.rankOfByte(byte);
      this.file(i, i + 1 < length ? this.table.rankOfPair(byte, bytes[start + i + 1]!) : NO_RANK);
    }
  }

  private file(part: number, rank: number): void {
    this.pairRanks[part] = rank;
    if (rank !== NO_RANK) this.buckets.add(rank, part);
  }

  /** Merges every pair of this rank in the chain of overlapping pairs around `inside`; gives how many. */
  private mergeChain(rank: number, inside: number, bytes: Uint8Array, start: number, length: number): number {
    const table = this.table;
    const tokens = this.tokens;
    const next = this.next;
    const previous = this.previous;
    const pairRanks = this.pairRanks;
    let part = inside;
    if (pairRanks[part] !== rank) return 0;
    while (part > 0 && pairRanks[previous[part]!] === rank) part = previous[part]!;
    let merges = 0;
    while (part < length && pairRanks[part] === rank) {
      const gone = next[part]!;
      const follower = next[gone]!;
      next[part] = follower;
      tokens[part] = rank;
      pairRanks[gone] = NO_RANK;
      merges++;
      if (part > 0) {
        const before = previous[part]!;
        this.file(before, table.rankOfMerge(tokens[before]!, rank, bytes, start + before, start + follower));
      }
      if (follower < length) {
        previous[follower] = part;
        const end = start + next[follower]!;
        this.file(part, table.rankOfMerge(rank, tokens[follower]!, bytes, start + part, end));
      } else {
        pairRanks[part] = NO_RANK;
      }
      part = follower;
    }
    return merges;
  }

  private makeRoom(length: number): void {
    // Each byte begins a pair at first, and each merge, of which there are fewer than bytes, makes two new ones.
    this.buckets.makeRoom(length * 3);
    this.next = new Int32Array(length);
    this.previous = new Int32Array(length);
    this.tokens = new Int32Array(length);
    this.pairRanks = new Int32Array(length);
  }
}
