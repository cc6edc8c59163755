const NONE = -1;

/**
 * Positions filed by rank and taken from the lowest rank upwards, each step in constant time: a priority queue
 * for the case that nothing is added at or below the rank last taken.
 */
export class RankBuckets {
  private readonly heads: Int32Array;
  /** One bit for each rank that has entries. */
  private readonly filled: Uint32Array;
  private positions = new Int32Array(0);
  private links = new Int32Array(0);
  private entries = 0;
  private word = 0;

  constructor(ranks: number) {
    this.heads = new Int32Array(ranks).fill(NONE);
    this.filled = new Uint32Array((ranks >> 5) + 1);
  }

  /** Allows for as many additions after each begin(). */
  makeRoom(additions: number): void {
    this.positions = new Int32Array(additions);
    this.links = new Int32Array(additions);
  }

  /** Starts again at rank 0, for empty buckets. */
  begin(): void {
    this.entries = 0;
    this.word = 0;
  }

  add(rank: number, position: number): void {
    const entry = this.entries++;
    this.positions[entry] = position;
    this.links[entry] = this.heads[rank]!;
    this.heads[rank] = entry;
    this.filled[rank >> 5]! |= 1 << (rank & 31);
  }

  /** The lowest rank that has entries, whose bucket is then closed; -1 when there is none. */
  takeRank(): number {
    const filled = this.filled;
    while (this.word < filled.length) {
      const bits = filled[this.word]!;
      if (bits !== 0) {
        const lowest = bits & -bits;
        filled[this.word] = bits ^ lowest;
        return (this.word << 5) | (31 - Math.clz32(lowest));
      }
      this.word++;
    }
    return NONE;
  }

  /** One of the positions left in the bucket, or -1. */
  takePosition(rank: number): number {
    const entry = this.heads[rank]!;
    if (entry === NONE) return NONE;
    this.heads[rank] = this.links[entry]!;
    return this.positions[entry]!;
  }
}
