import { TextCue } from "../documents/text-cues.js";
import { fold } from "../terms/analyse.js";
import { closeness } from "./dates.js";
import type { PartitionTable } from "./partition-table.js";
import type { Query } from "./query.js";
import { idfOf, scoreTerms, type TermRows, type TermScoring, termScoring } from "./score-terms.js";
import type { FeatureName, Weights } from "./weights.js";

/** A partition, and where each term of the query is in it: one entry a term, in the query's order. */
export interface RankedPartition {
  readonly partitionId: number;
  readonly table: PartitionTable;
  readonly terms: readonly TermRows[];
  /** Only these rows are seen, where the asker may not see all. */
  readonly onlyRows?: ReadonlySet<number> | undefined;
}

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
  /** Whether the asker may see the row and asked for such. */
  readonly isWanted?: (partition: RankedPartition, row: number) => boolean;
  /** Cosines by document id, where there are vectors. */
  readonly cosines?: ReadonlyMap<number, number> | undefined;
  readonly scoring?: TermScoring;
  readonly maxCandidates?: number;
}

/** Above so many, only those that look best by their terms and dates are looked at closely. */
export const maxCandidates = 4_000;

interface Candidate {
  readonly partition: RankedPartition;
  readonly row: number;
  /** Over the best one. */
  readonly terms: number;
  readonly date: number;
}

/** The best documents for a query, best first. Pure: the same input gives the same order. */
export function rank(query: Query, partitions: readonly RankedPartition[], options: RankOptions): Ranked[] {
  const { weights, limit, isWanted = () => true, cosines, scoring = termScoring } = options;
  const { idfs, averageLength } = statistics(query, partitions);
  const scored = partitions.map((partition) => ({
    partition,
    ...scoreTerms(
      partition.table,
      partition.terms.map((term, at) => ({ ...term, idf: idfs[at]! })),
      averageLength,
      scoring,
    ),
  }));
  const topScore = scored.reduce(
    (top, { scores, touched }) => touched.reduce((best, row) => Math.max(best, scores[row]!), top),
    0,
  );
  const over = topScore > 0 ? 1 / topScore : 0;
  const speaker = namedSpeaker(query, partitions);
  const meanings = cosines && new Meanings(partitions, cosines);
  let candidates: Candidate[] = [];
  for (const { partition, scores, touched } of scored) {
    const { table } = partition;
    const rows = new Set(touched);
    if (query.spans.length > 0) for (const row of table.rowsNear(query.spans)) rows.add(row);
    if (meanings) for (const row of meanings.rowsOf(partition)) rows.add(row);
    for (const row of rows)
      if (isWanted(partition, row))
        candidates.push({
          partition,
          row,
          terms: scores[row]! * over,
          date: closeness(query.spans, table.times[row]!),
        });
  }
  candidates = pruned(candidates, weights, meanings, options.maxCandidates ?? maxCandidates);
  const bySitting = sittingMeans(scored, over);
  const totalIdf = idfs.reduce((sum, idf) => sum + idf, 0) || 1;
  const ranked = candidates.map((candidate): Ranked => {
    const { partition, row, terms, date } = candidate;
    const { table } = partition;
    const flags = table.flags[row]!;
    const previous = table.before[row]!;
    const isSaidBefore = previous >= 0 && table.sittings[previous] === table.sittings[row];
    const hasTime = flags & TextCue.HAS_TIME ? 1 : 0;
    const features: Features = {
      terms,
      sitting: bySitting.get(partition)!.get(table.sittings[row]!) ?? 0,
      date,
      speaker: speakerFeature(speaker, table, row),
      endsAsQuestion: flags & TextCue.ENDS_AS_QUESTION ? 1 : 0,
      answersQuestion: isSaidBefore && table.flags[previous]! & TextCue.HAS_QUESTION ? 1 : 0,
      hasTime,
      hasTimeWhenAsked: query.asksWhen ? hasTime : 0,
      meaning: meanings?.of(partition, row) ?? 0,
      sittingMeaning: meanings?.ofSitting(partition, row) ?? 0,
    };
    let score = 0;
    for (const name in weights) score += weights[name as FeatureName]! * features[name as FeatureName];
    const coverage = (terms * topScore) / totalIdf;
    return { partition, row, score, coverage, features, cosine: cosines?.get(table.ids[row]!) };
  });
  ranked.sort((a, b) => b.score - a.score || idOf(a) - idOf(b));
  return ranked.slice(0, limit);
}

function idOf({ partition, row }: Ranked): number {
  return partition.table.ids[row]!;
}

/** Among so few, how rare a term is cannot be known from them. */
const fewDocuments = 500;

function statistics(query: Query, partitions: readonly RankedPartition[]) {
  const documents = partitions.reduce((sum, { table }) => sum + table.count, 0);
  const words = partitions.reduce((sum, { table }) => sum + table.totalTerms, 0);
  const idfs = query.terms.map((_, at) =>
    idfOf(
      Math.max(documents, fewDocuments),
      partitions.reduce((sum, { terms }) => sum + terms[at]!.rows.length, 0),
    ),
  );
  return { idfs, averageLength: Math.max(1, words / Math.max(1, documents)) };
}

/** The one speaker that the query names; undefined for none, or several. */
export function namedSpeaker(query: Query, partitions: readonly RankedPartition[]): string | undefined {
  const named = new Set<string>();
  for (const { table } of partitions)
    for (const name of table.speakerNames.list) {
      const [first] = fold(name)
        .toLowerCase()
        .split(/[^\p{L}\p{N}]+/u);
      if (first !== undefined && first !== "" && query.words.has(first)) named.add(name);
    }
  return named.size === 1 ? [...named][0] : undefined;
}

function speakerFeature(speaker: string | undefined, table: PartitionTable, row: number): number {
  if (speaker === undefined || table.speakers[row] === 0) return 0;
  return table.speakerNames.list[table.speakers[row]!] === speaker ? 1 : -1;
}

function pruned(
  candidates: Candidate[],
  weights: Weights,
  meanings: Meanings | undefined,
  max: number,
): Candidate[] {
  if (candidates.length <= max) return candidates;
  const guess = ({ partition, row, terms, date }: Candidate) =>
    (weights.terms ?? 1) * terms +
    (weights.date ?? 0) * date +
    (weights.meaning ?? 0) * (meanings?.of(partition, row) ?? 0);
  return candidates
    .map((candidate) => ({ candidate, guess: guess(candidate) }))
    .sort((a, b) => b.guess - a.guess)
    .slice(0, max)
    .map(({ candidate }) => candidate);
}

/** For each sitting, the mean of its three best scores. */
function sittingMeans(
  scored: readonly { partition: RankedPartition; scores: Float32Array; touched: readonly number[] }[],
  over: number,
): Map<RankedPartition, Map<number, number>> {
  return new Map(
    scored.map(({ partition, scores, touched }) => {
      const { sittings } = partition.table;
      return [
        partition,
        topThreeMeans(
          touched,
          (row) => sittings[row]!,
          (row) => scores[row]! * over,
        ),
      ];
    }),
  );
}

function topThreeMeans(
  rows: Iterable<number>,
  groupOf: (row: number) => number,
  scoreOf: (row: number) => number,
): Map<number, number> {
  const best = new Map<number, number[]>();
  for (const row of rows) {
    const group = groupOf(row);
    const value = scoreOf(row);
    const three = best.get(group);
    if (!three) best.set(group, [value]);
    else if (three.length < 3) {
      three.push(value);
      three.sort((a, b) => b - a);
    } else if (value > three[2]!) {
      three[2] = value;
      three.sort((a, b) => b - a);
    }
  }
  return new Map(
    [...best].map(([group, values]) => [group, values.reduce((a, b) => a + b, 0) / values.length]),
  );
}

const shareBefore = 0.4;
const shareAfter = 0.25;

/** Cosines together with those of the neighbours, in standard deviations of all that are known. */
class Meanings {
  private readonly values = new Map<RankedPartition, Map<number, number>>();
  private readonly sittings = new Map<RankedPartition, Map<number, number>>();

  constructor(partitions: readonly RankedPartition[], cosines: ReadonlyMap<number, number>) {
    if (cosines.size === 0) return;
    let sum = 0;
    for (const cosine of cosines.values()) sum += cosine;
    const mean = sum / cosines.size;
    const all: number[] = [];
    for (const partition of partitions) {
      const { table } = partition;
      const cosineAt = (row: number) => (row < 0 ? undefined : cosines.get(table.ids[row]!)) ?? mean;
      const values = new Map<number, number>();
      for (let row = 0; row < table.count; row++) {
        if (!cosines.has(table.ids[row]!)) continue;
        const value =
          cosineAt(row) +
          shareBefore * cosineAt(table.before[row]!) +
          shareAfter * cosineAt(table.after[row]!);
        values.set(row, value);
        all.push(value);
      }
      this.values.set(partition, values);
    }
    const center = all.reduce((a, b) => a + b, 0) / (all.length || 1);
    const spread = Math.sqrt(all.reduce((a, b) => a + (b - center) ** 2, 0) / (all.length || 1)) || 1;
    for (const [partition, values] of this.values) {
      for (const [row, value] of values) values.set(row, (value - center) / spread);
      const { sittings } = partition.table;
      this.sittings.set(
        partition,
        topThreeMeans(
          values.keys(),
          (row) => sittings[row]!,
          (row) => values.get(row)!,
        ),
      );
    }
  }

  rowsOf(partition: RankedPartition): Iterable<number> {
    return this.values.get(partition)?.keys() ?? [];
  }

  of(partition: RankedPartition, row: number): number {
    return this.values.get(partition)?.get(row) ?? 0;
  }

  ofSitting(partition: RankedPartition, row: number): number {
    return this.sittings.get(partition)?.get(partition.table.sittings[row]!) ?? 0;
  }
}
