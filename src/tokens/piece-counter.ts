import { hashBytes } from "./hash-bytes.js";
import { LongPieceMerger } from "./long-piece-merger.js";
import { mergeShortPiece, SHORT_PIECE_BYTES } from "./merge-short-piece.js";
import { PieceCache } from "./piece-cache.js";
import { LONGEST_TOKEN_BYTES, NO_RANK, type RankTable } from "./rank-table.js";

/** Counts the tokens of single pieces, as the pre-tokenizer parts them, by the ranks of one vocabulary. */
export class PieceCounter {
  private readonly table: RankTable;
  private readonly cache = new PieceCache();
  private readonly merger: LongPieceMerger;

  constructor(table: RankTable) {
    this.table = table;
    this.merger = new LongPieceMerger(table);
  }

  /** How many tokens bytes[start, end) has, for one byte or more. */
  count(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length === 1) return 1;
    if (length > LONGEST_TOKEN_BYTES) return this.merger.count(bytes, start, end);
    const hash = hashBytes(bytes, start, end);
    if (this.table.rankOfHashed(bytes, start, end, hash) !== NO_RANK) return 1;
    if (length > SHORT_PIECE_BYTES) return this.merger.count(bytes, start, end);
    const known = this.cache.get(bytes, start, end, hash);
    if (known > 0) return known;
    const count = mergeShortPiece(this.table, bytes, start, end);
    this.cache.set(bytes, start, end, hash, count);
    return count;
  }
}
