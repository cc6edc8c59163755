import { pausing } from "../../domain/pausing.js";
import { stepByStep } from "../../domain/steps.js";
import type { TextsToRank } from "../../sources/rank-texts.js";
import type { RecallDeps } from "../deps.js";
import { PartitionTable } from "../ranking/partition-table.js";
import { type Query, readQuery } from "../ranking/query.js";
import { rankScored } from "../ranking/rank.js";
import { type RankedPartition, scoreQuery } from "../ranking/score-query.js";
import type { TermRows } from "../ranking/score-terms.js";
import { analysis } from "../terms/analyse.js";
import { tierCounts, tiers } from "../terms/term-hash.js";
import { dot } from "../vectors/dot.js";
import { defaultSimilarity } from "./search.js";

/** Texts that are at hand, taken apart as the index would. */
interface Prepared {
  readonly texts: readonly string[];
  readonly table: PartitionTable;
  readonly postings: ReadonlyMap<string, TermRows>;
}

const nothing: TermRows = { rows: new Int32Array(0), counts: new Float32Array(0) };

/** Taken apart once, as long as somebody has them. */
const known = new WeakMap<readonly object[], Promise<Prepared>>();

/** The best of some things for a question, ranked as a search ranks what is stored: by words, and by meaning where vectors are there. */
export async function rankTexts<T extends object>(
  deps: RecallDeps,
  { things, textOf, question, nowMs, limit, threshold = defaultSimilarity }: TextsToRank<T>,
  signal?: AbortSignal,
): Promise<readonly T[]> {
  if (things.length === 0 || question.trim() === "") return [];
  let preparing = known.get(things);
  if (!preparing) {
    preparing = prepare(things.map(textOf));
    known.set(things, preparing);
  }
  const prepared = await preparing;
  // They are not told at a time: no day that a question names is theirs.
  const query: Query = { ...readQuery(question, nowMs), spans: [] };
  const { table, postings } = prepared;
  const terms = query.terms.map((term) => postings.get(term) ?? nothing);
  const partition: RankedPartition = { partitionId: 0, table, terms };
  const cosines = await cosinesOf(deps, query, prepared, signal);
  const weights = cosines ? deps.weights.hybrid : deps.weights.keyword;
  const pause = pausing(signal);
  const scored = await stepByStep(scoreQuery(query, [partition]), pause);
  const ranked = await stepByStep(rankScored(scored, { weights, limit: things.length, cosines }), pause);
  return ranked
    .filter(({ features, cosine = -1 }) => features.terms > 0 || cosine >= threshold)
    .slice(0, limit)
    .map(({ row }) => things[row]!);
}

async function prepare(texts: readonly string[]): Promise<Prepared> {
  const table = new PartitionTable();
  const found = new Map<string, { readonly rows: number[]; readonly counts: number[] }>();
  const pause = pausing();
  for (const [row, text] of texts.entries()) {
    const { terms, length } = await stepByStep(analysis(text), pause);
    table.add({ ...alone, id: row + 1, termCount: length });
    for (const [term, count] of terms) {
      let entry = found.get(term);
      if (!entry) {
        entry = { rows: [], counts: [] };
        found.set(term, entry);
      }
      entry.rows.push(row);
      entry.counts.push(tierCounts[tiers.findLastIndex((least) => count >= least)]!);
    }
    await pause();
  }
  const postings = new Map(
    [...found].map(([term, { rows, counts }]) => [
      term,
      { rows: Int32Array.from(rows), counts: Float32Array.from(counts) },
    ]),
  );
  return { texts, table, postings };
}

/** Nobody said it, and nothing stands before or after it. */
const alone = {
  sessionId: null,
  branchId: null,
  depth: null,
  messageIndex: 0,
  timeMs: 0,
  speaker: "",
  flags: 0,
};

async function cosinesOf(
  { embedding }: RecallDeps,
  query: Query,
  { texts }: Prepared,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<number, number> | undefined> {
  if (!embedding) return undefined;
  const vectors = embedding.texts.of(texts);
  if (vectors.every((vector) => vector === undefined)) return undefined;
  const asked = await embedding.queries.of(query.text, signal);
  if (typeof asked === "string") return undefined;
  const cosines = new Map<number, number>();
  for (const [row, vector] of vectors.entries())
    if (vector?.length === asked.length) cosines.set(row + 1, dot(vector, 0, asked));
  return cosines;
}
