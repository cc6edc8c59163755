import type { Steps } from "../../domain/steps.js";
import { TextCue } from "../documents/text-cues.js";
import { findCandidates, type IsWanted } from "./candidates.js";
import { closeness } from "./dates.js";
import { kthLargest } from "./kth-largest.js";
import { Meanings, type PartitionMeanings } from "./meanings.js";
import type { PartitionTable } from "./partition-table.js";
import type { RankedPartition, ScoredPartition, ScoredQuery } from "./score-query.js";
import { type FeatureName, featureNames, type Weights } from "./weights.js";

export type Features = Readonly<Record<FeatureName, number>>;

export interface Ranked {
  readonly partition: RankedPartition;
  readonly row: number;
  readonly score: number;
  /** How much of what the query says is said here and around it: about 1 where all of it is. */
  readonly coverage: number;
  readonly features: Features;
  readonly cosine: number | undefined;
}

export interface RankOptions {
  readonly weights: Weights;
  readonly limit: number;
  readonly isWanted?: IsWanted | undefined;
  /** Cosines by document id, where there are vectors. */
  readonly cosines?: ReadonlyMap<number, number> | undefined;
  readonly maxCandidates?: number | undefined;
}

/** Above so many, only those that look best by their terms and dates are looked at closely. */
export const maxCandidates = 4_000;
const stepCandidates = 512;

/** The best documents for a query, best first. Pure: the same input gives the same order. */
export function* rankScored(scored: ScoredQuery, options: RankOptions): Steps<Ranked[]> {
  const { cosines, limit } = options;
  const meanings = cosines && new Meanings(scored.partitions, cosines);
  const values = new Float64Array(featureNames.length);
  const best = yield* bestRows(scored, meanings, options);
  const ranked = best.map(({ of, row, score }): Ranked => {
    const { partition } = of;
    readFeatures(scored, of, row, meanings?.in(partition), values);
    const features = Object.fromEntries(featureNames.map((name, at) => [name, values[at]!])) as Features;
    const coverage = of.scores[row]! / scored.totalIdf;
    return { partition, row, score, coverage, features, cosine: cosines?.get(partition.table.ids[row]!) };
  });
  return ranked.sort((a, b) => b.score - a.score || idOf(a) - idOf(b)).slice(0, limit);
}

/** A row, and what it is worth. */
export interface BestRow {
  readonly of: ScoredPartition;
  readonly row: number;
  readonly score: number;
}

/** The rows that are worth most, as many as the limit says or a few more that are worth the same, in no order. */
export function* bestRows(
  scored: ScoredQuery,
  meanings: Meanings | undefined,
  options: RankOptions,
): Steps<BestRow[]> {
  const { weights, limit, isWanted } = options;
  yield;
  const candidates = yield* findCandidates(
    scored,
    weights,
    meanings,
    isWanted,
    options.maxCandidates ?? maxCandidates,
  );
  const total = candidates.reduce((sum, { rows }) => sum + rows.length, 0);
  const scores = new Float64Array(total);
  const byFeature = featureNames.map((name) => weights[name] ?? 0);
  const values = new Float64Array(featureNames.length);
  let done = 0;
  for (const { of, rows } of candidates) {
    const own = meanings?.in(of.partition);
    for (const row of rows) {
      readFeatures(scored, of, row, own, values);
      let score = 0;
      for (let at = 0; at < values.length; at++) score += byFeature[at]! * values[at]!;
      scores[done++] = score;
      if (done % stepCandidates === 0) yield;
    }
  }
  const least = total > limit ? kthLargest(scores.slice(), total, limit) : Number.NEGATIVE_INFINITY;
  const best: BestRow[] = [];
  done = 0;
  for (const { of, rows } of candidates)
    for (const row of rows) {
      const score = scores[done++]!;
      if (score >= least) best.push({ of, row, score });
    }
  return best;
}

function idOf({ partition, row }: Ranked): number {
  return partition.table.ids[row]!;
}

/** What is known of a row, in the order of the features' names. */
function readFeatures(
  { query, topScore, speaker }: ScoredQuery,
  { partition, scores, sittings }: ScoredPartition,
  row: number,
  meanings: PartitionMeanings | undefined,
  values: Float64Array,
): void {
  const { table } = partition;
  const over = topScore > 0 ? 1 / topScore : 0;
  const flags = table.flags[row]!;
  const previous = table.before[row]!;
  const isSaidBefore = previous >= 0 && table.sittings[previous] === table.sittings[row];
  const hasTime = flags & TextCue.HAS_TIME ? 1 : 0;
  values[Feature.terms] = scores[row]! * over;
  values[Feature.sitting] = sittings.mean(table.sittings[row]!) * over;
  values[Feature.date] = query.spans.length > 0 ? closeness(query.spans, table.times[row]!) : 0;
  values[Feature.speaker] = speakerFeature(speaker, table, row);
  values[Feature.endsAsQuestion] = flags & TextCue.ENDS_AS_QUESTION ? 1 : 0;
  values[Feature.answersQuestion] = isSaidBefore && table.flags[previous]! & TextCue.HAS_QUESTION ? 1 : 0;
  values[Feature.hasTime] = hasTime;
  values[Feature.hasTimeWhenAsked] = query.asksWhen ? hasTime : 0;
  values[Feature.meaning] = meanings?.values[row] ?? 0;
  values[Feature.sittingMeaning] = meanings?.sittings.mean(table.sittings[row]!) ?? 0;
}

/** Where each feature is among the names. */
const Feature = Object.fromEntries(featureNames.map((name, at) => [name, at])) as Readonly<
  Record<FeatureName, number>
>;

function speakerFeature(speaker: string | undefined, table: PartitionTable, row: number): number {
  if (speaker === undefined || table.speakers[row] === 0) return 0;
  return table.speakerNames.list[table.speakers[row]!] === speaker ? 1 : -1;
}
