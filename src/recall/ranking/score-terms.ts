import type { Steps } from "../../domain/steps.js";
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
  /** The rows that have a score. */
  readonly touched: Int32Array;
}

/** So many entries of a term are looked at in a step: well below a millisecond. */
const stepRows = 2_048;

/**
 * BM25, where each term also counts for the messages around it: by the maximum, so that what is said once is not counted again. A
 * message that alone says little is found by what it answers.
 */
export function* scoreTerms(
  table: PartitionTable,
  terms: readonly (TermRows & { readonly idf: number })[],
  averageLength: number,
  scoring: TermScoring = termScoring,
): Steps<PartitionScores> {
  const spreading = new Spreading(table, averageLength, scoring);
  for (const { rows, counts, idf } of terms) {
    for (let from = 0; from < rows.length; from += stepRows) {
      spreading.spread(rows, counts, idf, from, Math.min(rows.length, from + stepRows));
      yield;
    }
    spreading.finishTerm();
  }
  return { scores: spreading.scores, touched: spreading.touched.subarray(0, spreading.touchedCount) };
}

/** Sums up term by term. The table may grow meanwhile: rows that were added since it began are not looked at. */
class Spreading {
  readonly scores: Float32Array;
  readonly touched: Int32Array;
  touchedCount = 0;
  private readonly count: number;
  private readonly best: Float32Array;
  private readonly ofTerm: Int32Array;
  private ofTermCount = 0;

  constructor(
    private readonly table: PartitionTable,
    private readonly averageLength: number,
    private readonly scoring: TermScoring,
  ) {
    this.count = table.count;
    this.scores = new Float32Array(this.count);
    this.best = new Float32Array(this.count);
    this.touched = new Int32Array(this.count);
    this.ofTerm = new Int32Array(this.count);
  }

  /** What some of the rows that have a term give to themselves and to those around them. */
  spread(rows: Int32Array, counts: Float32Array, idf: number, from: number, to: number): void {
    const { lengths, before, after, sittings } = this.table;
    const { k1, b, fromBefore, fromAfter, further, reach } = this.scoring;
    for (let at = from; at < to; at++) {
      const row = rows[at]!;
      if (row >= this.count) continue;
      const count = counts[at]!;
      const norm = k1 * (1 - b + (b * lengths[row]!) / this.averageLength);
      const value = (idf * count * (k1 + 1)) / (count + norm);
      this.raise(row, value);
      this.walk(after, sittings, row, fromBefore * value, further, reach);
      this.walk(before, sittings, row, fromAfter * value, further, reach);
    }
  }

  finishTerm(): void {
    const { best, scores, touched, ofTerm } = this;
    for (let at = 0; at < this.ofTermCount; at++) {
      const row = ofTerm[at]!;
      if (scores[row] === 0) touched[this.touchedCount++] = row;
      scores[row]! += best[row]!;
      best[row] = 0;
    }
    this.ofTermCount = 0;
  }

  private walk(
    next: Int32Array,
    sittings: Int32Array,
    row: number,
    first: number,
    further: number,
    reach: number,
  ): void {
    const sitting = sittings[row]!;
    let share = first;
    let to = next[row]!;
    for (let step = 0; step < reach && to >= 0 && to < this.count && sittings[to] === sitting; step++) {
      this.raise(to, share);
      share *= further;
      to = next[to]!;
    }
  }

  private raise(row: number, value: number): void {
    const known = this.best[row]!;
    if (known === 0) this.ofTerm[this.ofTermCount++] = row;
    if (value > known) this.best[row] = value;
  }
}

export function idfOf(documents: number, withTerm: number): number {
  return Math.log(1 + (documents - withTerm + 0.5) / (withTerm + 0.5));
}
