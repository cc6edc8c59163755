import { stepByStep } from "../../domain/steps.js";
import type { RecallDeps } from "../deps.js";
import { asSpeaker } from "../embedders/as-speaker.js";
import type { IsWanted } from "../ranking/candidates.js";
import { rankScored } from "../ranking/rank.js";
import type { ScoredQuery } from "../ranking/score-query.js";

/** How near documents are to a query in meaning, by their ids; undefined where that could not be known, with the reason. */
export interface QueryMeaning {
  readonly cosines: ReadonlyMap<number, number> | undefined;
  readonly note: string;
  /** How many documents of the scope have no vector yet. */
  readonly withoutVector: number;
}

/** So many are compared one by one; of more, only those that may be shown, and a sample to compare them with. */
export const maxCompared = 3_000;
const nearestCount = 200;
const candidateCount = 300;
const sampleCount = 200;

export interface MeaningOptions {
  readonly isWanted?: IsWanted | undefined;
  readonly pause: () => Promise<void> | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly maxCompared?: number;
}

/** Embeds the query and compares. A search goes on without it where that fails. */
export async function readMeaning(
  deps: RecallDeps,
  scored: ScoredQuery,
  options: MeaningOptions,
): Promise<QueryMeaning> {
  const { embedderId, queries, index } = deps.embedding!;
  const { signal } = options;
  const vector = await queries.of(ownWords(scored), signal);
  if (typeof vector === "string") return { cosines: undefined, note: vector, withoutVector: 0 };
  const total = scored.partitions.reduce((sum, { count }) => sum + count, 0);
  const isSmall = total <= (options.maxCompared ?? maxCompared);
  const survey = await index.survey(embedderId, vector, {
    scope: { partitionIds: scored.partitions.map(({ partition }) => partition.partitionId) },
    nearest: isSmall ? 0 : nearestCount,
    documentIds: isSmall ? allIds(scored) : await someIds(deps, scored, total, options),
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
function ownWords({ query, speaker }: ScoredQuery): string {
  if (speaker === undefined) return query.text;
  const own = asSpeaker(query.text, speaker);
  return own === query.text ? asSpeaker(query.text, speaker.split(/\s/u)[0]!) : own;
}

function allIds({ partitions }: ScoredQuery): number[] {
  return partitions.flatMap(({ partition, count }) => [...partition.table.ids.subarray(0, count)]);
}

async function someIds(
  deps: RecallDeps,
  scored: ScoredQuery,
  total: number,
  { isWanted, pause }: MeaningOptions,
): Promise<number[]> {
  const ids = new Set<number>();
  const found = await stepByStep(
    rankScored(scored, { weights: deps.weights.keyword, limit: candidateCount, isWanted }),
    pause,
  );
  for (const { partition, row } of found) {
    const { table } = partition;
    for (const one of [row, table.before[row]!, table.after[row]!]) if (one >= 0) ids.add(table.ids[one]!);
  }
  const step = Math.max(1, Math.floor(total / sampleCount));
  let next = 0;
  for (const { partition, count } of scored.partitions) {
    for (; next < count; next += step) ids.add(partition.table.ids[next]!);
    next -= count;
  }
  return [...ids];
}
