import { stepByStep } from "../../domain/steps.js";
import type { RecallDeps } from "../deps.js";
import { asSpeaker } from "../embedders/as-speaker.js";
import type { IsWanted } from "../ranking/candidates.js";
import type { Query } from "../ranking/query.js";
import { bestRows } from "../ranking/rank.js";
import { namedSpeaker, type RankedPartition, type ScoredQuery } from "../ranking/score-query.js";
import type { Survey } from "../vectors/vector-index.js";

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
/** Of what looks best by its words, so many are compared, chosen from so many. */
const candidateCount = 200;
const candidatesFrom = 1_000;
const sampleCount = 200;

export interface MeaningOptions {
  readonly isWanted?: IsWanted | undefined;
  readonly pause: () => Promise<void> | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly maxCompared?: number;
  /** How long the query's vector is waited for. */
  readonly waitMs?: number | undefined;
}

/** A comparison that has begun: it goes on while words are looked at, and is finished when it is known what they say. */
export type BegunMeaning = (scored: ScoredQuery) => Promise<QueryMeaning>;

/** Embeds the query and compares. A search goes on without it where that fails. */
export function beginMeaning(
  deps: RecallDeps,
  query: Query,
  partitions: readonly RankedPartition[],
  options: MeaningOptions,
): BegunMeaning {
  const { embedderId, queries, index } = deps.embedding!;
  const { signal, waitMs } = options;
  const total = partitions.reduce((sum, { table }) => sum + table.count, 0);
  const isSmall = total <= (options.maxCompared ?? maxCompared);
  const scope = { partitionIds: partitions.map(({ partitionId }) => partitionId) };
  const asking = { scope, ...(signal ? { signal } : {}) };
  const nearest = async () => {
    const vector = await queries.of(ownWords(query, namedSpeaker(query, partitions)), signal, waitMs);
    if (typeof vector === "string") return vector;
    const near = isSmall
      ? undefined
      : await index.survey(embedderId, vector, { ...asking, nearest: nearestCount });
    return { vector, near };
  };
  const begun = nearest();
  // Who stops before it is needed does not ask what came of it.
  begun.catch(() => undefined);
  return async (scored) => {
    const documentIds = isSmall ? allIds(scored) : await someIds(deps, scored, total, options);
    const found = await begun;
    if (typeof found === "string") return { cosines: undefined, note: found, withoutVector: 0 };
    const cosines = new Map<number, number>();
    const add = ({ ids, cosines: own }: Survey) =>
      ids.forEach((id, at) => {
        cosines.set(id, own[at]!);
      });
    if (found.near) add(found.near);
    const wanted = documentIds.filter((id) => !cosines.has(id));
    const rest = await index.survey(embedderId, found.vector, { ...asking, nearest: 0, documentIds: wanted });
    add(rest);
    const withoutVector = Math.max(0, total - rest.count);
    return cosines.size === 0
      ? { cosines: undefined, note: total === 0 ? "" : "nothing here has a vector yet", withoutVector }
      : { cosines, note: "", withoutVector };
  };
}

/** The question as the one speaker would ask it whom it names. */
function ownWords(query: Query, speaker: string | undefined): string {
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
    bestRows(scored, undefined, {
      weights: deps.weights.keyword,
      limit: candidateCount,
      isWanted,
      maxCandidates: candidatesFrom,
    }),
    pause,
  );
  for (const { of, row } of found) {
    const { table } = of.partition;
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
