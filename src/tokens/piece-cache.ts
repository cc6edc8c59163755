import { SHORT_PIECE_BYTES } from "./merge-short-piece.js";

const ENTRIES = 2 ** 14;
const ENTRY_BYTES = SHORT_PIECE_BYTES;

/**
 * Remembers how many tokens pieces of text have. Each hash has one place, and a later piece takes the place of
 * an earlier one: memory is bounded by construction, and nothing is allocated after the start.
 */
export class PieceCache {
  private readonly bytes = new Uint8Array(ENTRIES * ENTRY_BYTES);
  private readonly lengths = new Uint8Array(ENTRIES);
  private readonly counts = new Uint8Array(ENTRIES);

  /** The count of bytes[start, end) whose hash is given, or 0 when it is not known. */
  get(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const entry = PieceCache.entryOf(hash);
    if (this.lengths[entry] !== end - start) return 0;
    const held = this.bytes;
    let from = entry * ENTRY_BYTES;
    for (let i = start; i < end; i++) if (held[from++] !== bytes[i]) return 0;
    return this.counts[entry]!;
  }

  /** Keeps the count of a piece of at most SHORT_PIECE_BYTES. */
  set(bytes: Uint8Array, start: number, end: number, hash: number, count: number): void {
    const entry = PieceCache.entryOf(hash);
    this.lengths[entry] = end - start;
    this.counts[entry] = count;
    let to = entry * ENTRY_BYTES;
    for (let i = start; i < end; i++) this.bytes[to++] = bytes[i]!;
  }

  private static entryOf(hash: number): number {
    return (hash ^ (hash >>> 16)) & (ENTRIES - 1);
  }
}
