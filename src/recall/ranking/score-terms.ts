import type { PartitionTable } from "./partition-table.js";

/** How terms count. */
export interface TermScoring {
  readonly k1: number;
  readonly b: number;
  /** How much of a term a message has from the one before it, from the one after it, and from each further one. */
  readonly fromBefore: number;
  readonly fromAfter: number;
  readonly further: number;
  readonly reach: number;
}

export const termScoring: TermScoring = {
  k1: 0.9,
  b: 0.4,
  fromBefore: 0.75,
  fromAfter: 0.45,
  further: 0.7,
  reach: 5,
};

/** Where a term is in one partition: rows of its table, and how often. */
export interface TermRows {
  readonly rows: Int32Array;
  readonly counts: Float32Array;
}

export interface PartitionScores {
  /** By row; 0 for what has nothing of the query near it. */
  readonly scores: Float32Array;
  readonly touched: readonly number[];
}

/**
 * BM25, where each term also counts for the messages around it: by the maximum, so that what is said once is not counted again. A
 * message that alone says little is found by what it answers.
 */
export function scoreTerms(
  table: PartitionTable,
  terms: readonly (TermRows & { readonly idf: number })[],
  averageLength: number,
  scoring: TermScoring = termScoring,
): PartitionScores {
  const { k1, b, fromBefore, fromAfter, further, reach } = scoring;
  const scores = new Float32Array(table.count);
  const best = new Float32Array(table.count);
  const touched: number[] = [];
  const { lengths, before, after, sittings } = table;
  let ofTerm: number[] = [];
  const raise = (row: number, value: number) => {
    if (best[row] === 0) ofTerm.push(row);
    if (value > best[row]!) best[row] = value;
  };
  for (const { rows, counts, idf } of terms) {
    ofTerm = [];
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at]!;
      const count = counts[at]!;
      const norm = k1 * (1 - b + (b * lengths[row]!) / averageLength);
      const value = (idf * count * (k1 + 1)) / (count + norm);
      raise(row, value);
      const sitting = sittings[row]!;
      let share = fromBefore * value;
      for (
        let step = 0, to = after[row]!;
        step < reach && to >= 0 && sittings[to] === sitting;
        step++, to = after[to]!
      ) {
        raise(to, share);
        share *= further;
      }
      share = fromAfter * value;
      for (
        let step = 0, to = before[row]!;
        step < reach && to >= 0 && sittings[to] === sitting;
        step++, to = before[to]!
      ) {
        raise(to, share);
        share *= further;
      }
    }
    for (const row of ofTerm) {
      if (scores[row] === 0) touched.push(row);
      scores[row]! += best[row]!;
      best[row] = 0;
    }
  }
  return { scores, touched };
}

export function idfOf(documents: number, withTerm: number): number {
  return Math.log(1 + (documents - withTerm + 0.5) / (withTerm + 0.5));
}
