import type { Steps } from "../../domain/steps.js";
import { closeness } from "./dates.js";
import { kthLargest } from "./kth-largest.js";
import type { Meanings } from "./meanings.js";
import type { RankedPartition, ScoredPartition, ScoredQuery } from "./score-query.js";
import type { Weights } from "./weights.js";

/** Whether the asker may see a row and asked for such. */
export type IsWanted = (partition: RankedPartition, row: number) => boolean;

/** Rows of one partition that are looked at closely. */
export interface Candidates {
  readonly of: ScoredPartition;
  readonly rows: Int32Array;
}

interface Guessed extends Candidates {
  readonly guesses: Float64Array;
}

const stepRows = 4_096;

/** What may be shown at all: what has words of the query near it, is of a time that it names, or is near in meaning. The best of it, where it is more than `max`. */
export function* findCandidates(
  scored: ScoredQuery,
  weights: Weights,
  meanings: Meanings | undefined,
  isWanted: IsWanted | undefined,
  max: number,
): Steps<readonly Candidates[]> {
  const guessed: Guessed[] = [];
  let total = 0;
  for (const of of scored.partitions) {
    const found = yield* guess(of, scored, weights, meanings, isWanted);
    total += found.rows.length;
    guessed.push(found);
  }
  if (total <= max) return guessed;
  const all = new Float64Array(total);
  let filled = 0;
  for (const { guesses } of guessed) {
    all.set(guesses, filled);
    filled += guesses.length;
  }
  const least = kthLargest(all, total, max);
  yield;
  let equal = max;
  for (const { guesses } of guessed) for (const value of guesses) if (value > least) equal--;
  return guessed.map(({ of, rows, guesses }) => {
    const kept = rows.filter((_, at) => guesses[at]! > least || (guesses[at] === least && equal-- > 0));
    return { of, rows: kept };
  });
}

/** The candidates of a partition, each with what it looks to be worth. */
function* guess(
  of: ScoredPartition,
  { query, topScore }: ScoredQuery,
  weights: Weights,
  meanings: Meanings | undefined,
  isWanted: IsWanted | undefined,
): Steps<Guessed> {
  const { partition, count, scores, touched } = of;
  const { times } = partition.table;
  const rows = new Int32Array(count);
  const guesses = new Float64Array(count);
  const isTaken = new Uint8Array(count);
  const byTerms = (weights.terms ?? 1) * (topScore > 0 ? 1 / topScore : 0);
  const byDate = weights.date ?? 0;
  const byMeaning = weights.meaning ?? 0;
  const hasDates = query.spans.length > 0;
  const near = meanings?.in(partition);
  let taken = 0;
  const take = (row: number) => {
    if (row >= count || isTaken[row] === 1) return;
    isTaken[row] = 1;
    if (isWanted && !isWanted(partition, row)) return;
    rows[taken] = row;
    guesses[taken++] =
      byTerms * scores[row]! +
      (hasDates ? byDate * closeness(query.spans, times[row]!) : 0) +
      (near ? byMeaning * near.values[row]! : 0);
  };
  for (let at = 0; at < touched.length; at++) {
    take(touched[at]!);
    if (at % stepRows === stepRows - 1) yield;
  }
  if (hasDates)
    for (let row = 0; row < count; row++) {
      if (closeness(query.spans, times[row]!) > 0) take(row);
      if (row % stepRows === stepRows - 1) yield;
    }
  if (near) for (const row of near.rows) take(row);
  return { of, rows: rows.subarray(0, taken), guesses: guesses.subarray(0, taken) };
}
