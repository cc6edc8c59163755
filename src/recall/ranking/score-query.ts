import type { Steps } from "../../domain/steps.js";
import { fold } from "../terms/analyse.js";
import type { PartitionTable } from "./partition-table.js";
import type { Query } from "./query.js";
import {
  idfOf,
  type PartitionScores,
  scoreTerms,
  type TermRows,
  type TermScoring,
  termScoring,
} from "./score-terms.js";
import { TopThree } from "./top-three.js";

/** A partition, and where each term of the query is in it: one entry a term, in the query's order. */
export interface RankedPartition {
  readonly partitionId: number;
  readonly table: PartitionTable;
  readonly terms: readonly TermRows[];
  /** Only these rows are seen, where the asker may not see all. */
  readonly onlyRows?: ReadonlySet<number> | undefined;
}

export interface ScoredPartition extends PartitionScores {
  readonly partition: RankedPartition;
  /** How many rows it had. */
  readonly count: number;
  /** The best of each sitting. */
  readonly sittings: TopThree;
}

/** How rare a term of a query is where it was looked for. */
export interface TermRarity {
  readonly idf: number;
  /** How many documents have it. */
  readonly documents: number;
}

/** What the words of a query say of every document. */
export interface ScoredQuery {
  readonly query: Query;
  /** By the query's terms, in their order. */
  readonly rarities: readonly TermRarity[];
  /** How many documents were looked at. */
  readonly documents: number;
  readonly partitions: readonly ScoredPartition[];
  /** The best of all; 0 where nothing has a term. */
  readonly topScore: number;
  readonly totalIdf: number;
  /** The one speaker that the query names; undefined for none, or several. */
  readonly speaker: string | undefined;
}

export function* scoreQuery(
  query: Query,
  partitions: readonly RankedPartition[],
  scoring: TermScoring = termScoring,
): Steps<ScoredQuery> {
  const { rarities, documents, averageLength } = statistics(query, partitions);
  const scored: ScoredPartition[] = [];
  let topScore = 0;
  for (const partition of partitions) {
    const { table } = partition;
    const { count } = table;
    const terms = partition.terms.map((term, at) => ({ ...term, idf: rarities[at]!.idf }));
    const { scores, touched } = yield* scoreTerms(table, terms, averageLength, scoring);
    const sittings = new TopThree(touched.length > 0 ? table.sittingCount : 0);
    for (const row of touched) {
      const score = scores[row]!;
      if (score > topScore) topScore = score;
      sittings.add(table.sittings[row]!, score);
    }
    scored.push({ partition, count, scores, touched, sittings });
    yield;
  }
  return {
    query,
    rarities,
    documents,
    partitions: scored,
    topScore,
    totalIdf: rarities.reduce((sum, { idf }) => sum + idf, 0) || 1,
    speaker: namedSpeaker(query, partitions),
  };
}

/** Among so few, how rare a term is cannot be known from them. */
const fewDocuments = 500;

function statistics(query: Query, partitions: readonly RankedPartition[]) {
  const documents = partitions.reduce((sum, { table }) => sum + table.count, 0);
  const words = partitions.reduce((sum, { table }) => sum + table.totalTerms, 0);
  const rarities = query.terms.map((_, at): TermRarity => {
    const withTerm = partitions.reduce((sum, { terms }) => sum + terms[at]!.rows.length, 0);
    return { idf: idfOf(Math.max(documents, fewDocuments), withTerm), documents: withTerm };
  });
  return { rarities, documents, averageLength: Math.max(1, words / Math.max(1, documents)) };
}

/** The one speaker that a query names; undefined for none, or several. */
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
