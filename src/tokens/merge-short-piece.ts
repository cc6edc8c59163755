import { NO_RANK, type RankTable } from "./rank-table.js";

/** Up to this, looking for the lowest rank by scanning costs less than the buckets of LongPieceMerger. */
export const SHORT_PIECE_BYTES = 64;

const starts = new Int32Array(SHORT_PIECE_BYTES + 1);
const pairRanks = new Int32Array(SHORT_PIECE_BYTES);

/** How many tokens bytes[start, end) merges into, for at most SHORT_PIECE_BYTES bytes. */
export function mergeShortPiece(table: RankTable, bytes: Uint8Array, start: number, end: number): number {
  let parts = end - start;
  for (let i = 0; i <= parts; i++) starts[i] = start + i;
  for (let i = 0; i < parts - 1; i++)
    pairRanks[i] = table.rankOfPair(bytes[start + i]!, bytes[start + i + 1]!);
  while (parts > 1) {
    let lowest = NO_RANK;
    let at = 0;
    for (let i = 0; i < parts - 1; i++) {
      const rank = pairRanks[i]!;
      if (rank < lowest) {
        lowest = rank;
        at = i;
      }
    }
    if (lowest === NO_RANK) break;
    parts--;
    for (let i = at + 1; i <= parts; i++) starts[i] = starts[i + 1]!;
    for (let i = at + 1; i < parts - 1; i++) pairRanks[i] = pairRanks[i + 1]!;
    if (at > 0) pairRanks[at - 1] = table.rankOf(bytes, starts[at - 1]!, starts[at + 1]!);
    if (at < parts - 1) pairRanks[at] = table.rankOf(bytes, starts[at]!, starts[at + 2]!);
  }
  return parts;
}
