import type { RecallDeps } from "../deps.js";
import { asSpeaker } from "../embedders/as-speaker.js";
import type { Query } from "../ranking/query.js";
import { namedSpeaker, type Ranked, type RankedPartition, rank } from "../ranking/rank.js";
import type { IsWanted } from "./filters.js";

/** How near documents are to a query in meaning, by their ids; undefined where that could not be known, with the reason. */
export interface QueryMeaning {
  readonly cosines: ReadonlyMap<number, number> | undefined;
  readonly note: string;
  /** How many documents of the scope have no vector yet. */
  readonly withoutVector: number;
}

/** So many are compared one by one; of more, only those that may be shown, and a sample to compare them with. */
const maxCompared = 3_000;
const nearestCount = 200;
const candidateCount = 300;
const sampleCount = 200;

/** Embeds the query and compares. A search goes on without it where that fails. */
export async function readMeaning(
  deps: RecallDeps,
  query: Query,
  partitions: readonly RankedPartition[],
  isWanted: IsWanted,
  signal: AbortSignal | undefined,
): Promise<QueryMeaning> {
  const { embedderId, queries, index } = deps.embedding!;
  const vector = await queries.of(ownWords(query, partitions), signal);
  if (typeof vector === "string") return { cosines: undefined, note: vector, withoutVector: 0 };
  const total = partitions.reduce((sum, { table }) => sum + table.count, 0);
  const isSmall = total <= maxCompared;
  const survey = await index.survey(embedderId, vector, {
    scope: { partitionIds: partitions.map(({ partitionId }) => partitionId) },
    nearest: isSmall ? 0 : nearestCount,
    documentIds: isSmall ? allIds(partitions) : someIds(deps, query, partitions, isWanted),
    ...(signal ? { signal } : {}),
  });
  const cosines = new Map<number, number>();
  survey.ids.forEach((id, at) => {
    cosines.set(id, survey.cosines[at]!);
  });
  const withoutVector = Math.max(0, total - survey.count);
  return cosines.size === 0
    ? { cosines: undefined, note: total === 0 ? "" : "nothing here has a vector yet", withoutVector }
    : { cosines, note: "", withoutVector };
}

/** The question as the one speaker would ask it whom it names. */
function ownWords(query: Query, partitions: readonly RankedPartition[]): string {
  const speaker = namedSpeaker(query, partitions);
  if (speaker === undefined) return query.text;
  const own = asSpeaker(query.text, speaker);
  return own === query.text ? asSpeaker(query.text, speaker.split(/\s/u)[0]!) : own;
}

function allIds(partitions: readonly RankedPartition[]): number[] {
  return partitions.flatMap(({ table }) => [...table.ids.subarray(0, table.count)]);
}

function someIds(
  deps: RecallDeps,
  query: Query,
  partitions: readonly RankedPartition[],
  isWanted: IsWanted,
): number[] {
  const ids = new Set<number>();
  const found: readonly Ranked[] = rank(query, partitions, {
    weights: deps.weights.keyword,
    limit: candidateCount,
    isWanted,
  });
  for (const { partition, row } of found) {
    const { table } = partition;
    for (const one of [row, table.before[row]!, table.after[row]!]) if (one >= 0) ids.add(table.ids[one]!);
  }
  for (const { table } of partitions) {
    const step = Math.max(1, Math.floor(table.count / sampleCount));
    for (let row = 0; row < table.count; row += step) ids.add(table.ids[row]!);
  }
  return [...ids];
}
