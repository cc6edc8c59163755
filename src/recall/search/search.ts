import type { BlockActor, BlockOwner } from "../../domain/memory.js";
import { pausing } from "../../domain/pausing.js";
import { stepByStep } from "../../domain/steps.js";
import { QuireError } from "../../errors/quire-error.js";
import { groupBy } from "../../storage/group-by.js";
import type { SearchDocumentRow } from "../../storage/recall/rows.js";
import type { DocumentKind, Partition } from "../../storage/recall/search-store.js";
import type { RecallDeps } from "../deps.js";
import { type Query, readQuery } from "../ranking/query.js";
import { type Features, type Ranked, rankScored } from "../ranking/rank.js";
import { scoreQuery, type TermRarity } from "../ranking/score-query.js";
import { type Filters, wantedRows } from "./filters.js";
import { findPartitions } from "./find-partitions.js";
import { beginMeaning, type QueryMeaning } from "./query-meaning.js";
import { type DocumentText, readTexts } from "./read-texts.js";
import { resolveScope, type Scope } from "./scope.js";

export type SearchMode = "auto" | "keyword" | "vector" | "hybrid";

/** What is found by its meaning alone is at least so near, unless somebody says otherwise. */
export const defaultSimilarity = 0.3;

export interface SearchCommand extends Filters {
  readonly query: string;
  readonly actor: BlockActor;
  readonly owner?: BlockOwner | undefined;
  readonly kinds: ReadonlySet<DocumentKind>;
  readonly session?: string | undefined;
  /** Where to look, for callers who know it better than an actor says. */
  readonly scope?: Scope | undefined;
  readonly mode: SearchMode;
  readonly limit: number;
  /** What is found by its meaning alone is at least so near. */
  readonly similarityThreshold: number;
  /** What time it is for words such as "yesterday". */
  readonly nowMs?: number | undefined;
  /** How long the vector of the query is waited for; so long as searches wait unless somebody is in a hurry. */
  readonly vectorWaitMs?: number | undefined;
  /** How many texts wait to be indexed, for callers who have just caught up, or may not write. */
  readonly pending?: number | undefined;
}

export interface SearchHit {
  readonly document: SearchDocumentRow;
  readonly partition: Partition;
  readonly text: DocumentText;
  readonly score: number;
  readonly coverage: number;
  readonly cosine: number | undefined;
  readonly features: Features;
  /** The terms of the query that it has itself. */
  readonly terms: readonly string[];
  /** Those of the question that it answers; none where it answers none. */
  readonly askedTerms: readonly string[];
}

export interface SearchAnswer {
  readonly query: Query;
  /** How rare each term of the query is in what was searched, and how many documents that is. */
  readonly rarities: ReadonlyMap<string, TermRarity>;
  readonly documents: number;
  readonly hits: readonly SearchHit[];
  /** How it was searched in the end. */
  readonly mode: Exclude<SearchMode, "auto">;
  /** Why not as it was asked; empty where it was. */
  readonly note: string;
  /** How many texts of the tenant wait to be indexed, and were not looked at. */
  readonly pending: number;
  /** How many of the texts that were searched have no vector yet. */
  readonly withoutVector: number;
}

/** So many more are ranked than are shown: those that are gone give their places to them. */
const spareHits = 16;

/** Finds what was written down and said. Any text is a query; one that says nothing finds nothing. */
export async function search(
  deps: RecallDeps,
  tenantId: string,
  command: SearchCommand,
  signal?: AbortSignal,
): Promise<SearchAnswer> {
  const { store, indexer, embedding } = deps;
  if (command.mode === "vector" && !embedding)
    throw QuireError.field("INVALID_FIELD", "mode", "is VECTOR, and no embedder is configured");
  const pending = command.pending ?? (await indexer.catchUp(tenantId, signal));
  const scope =
    command.scope ??
    (await resolveScope(store, tenantId, { session: undefined, owner: undefined, ...command }));
  const query = readQuery(command.query, command.nowMs ?? deps.clock.now());
  const pause = pausing(signal);
  const partitions = await findPartitions(deps, tenantId, query, scope, pause);
  const isWanted = await wantedRows(deps, scope, partitions, command, pause);
  const wantsMeaning = embedding !== undefined && command.mode !== "keyword" && command.query.trim() !== "";
  const comparing =
    wantsMeaning &&
    beginMeaning(deps, query, partitions, { isWanted, pause, signal, waitMs: command.vectorWaitMs });
  const scored = await stepByStep(scoreQuery(query, partitions), pause);
  const meaning: QueryMeaning = comparing
    ? await comparing(scored)
    : {
        cosines: undefined,
        note: command.mode === "hybrid" ? "no embedder is configured" : "",
        withoutVector: 0,
      };
  const { cosines, note, withoutVector } = meaning;
  const isByMeaning = command.mode === "vector" && cosines !== undefined;
  const weights = cosines ? (isByMeaning ? { meaning: 1 } : deps.weights.hybrid) : deps.weights.keyword;
  const isFound = (hit: Ranked) =>
    isByMeaning
      ? (hit.cosine ?? -1) >= command.similarityThreshold
      : hit.features.terms > 0 || hit.features.date > 0 || (hit.cosine ?? -1) >= command.similarityThreshold;
  const hits: SearchHit[] = [];
  // What was deleted since its table was read has no row, and gives its place to the next.
  for (let most = command.limit + spareHits; ; most *= 4) {
    let ranked = await stepByStep(rankScored(scored, { weights, limit: most, isWanted, cosines }), pause);
    const isAll = ranked.length < most;
    if (isByMeaning) ranked = [...ranked].sort((a, b) => (b.cosine ?? -1) - (a.cosine ?? -1));
    hits.length = 0;
    hits.push(...(await readHits(deps, tenantId, query, ranked.filter(isFound), command.limit, scope)));
    if (hits.length === command.limit || isAll || most > 10_000) break;
  }
  const mode = cosines ? (isByMeaning ? "vector" : "hybrid") : "keyword";
  const rarities = new Map(query.terms.map((term, at) => [term, scored.rarities[at]!]));
  return { query, rarities, documents: scored.documents, hits, mode, note, pending, withoutVector };
}

async function readHits(
  deps: RecallDeps,
  tenantId: string,
  query: Query,
  ranked: readonly Ranked[],
  limit: number,
  scope: Scope,
): Promise<SearchHit[]> {
  const idOf = ({ partition, row }: Ranked) => partition.table.ids[row]!;
  const partitions = new Map(scope.partitions.map((partition) => [partition.id, partition]));
  const documents = new Map<number, SearchDocumentRow>();
  const read = async (some: readonly Ranked[]) => {
    const ids = some.map(idOf);
    for (const row of await deps.store.documents(tenantId, ids)) documents.set(row.id, row);
    const gone = ids.filter((id) => !documents.has(id));
    if (gone.length > 0) deps.embedding?.index.forget(gone);
  };
  const wanted = ranked.slice(0, limit + spareHits);
  await read(wanted.slice(0, limit));
  if (documents.size < Math.min(limit, wanted.length)) await read(wanted.slice(limit));
  const shown = wanted.filter((one) => documents.has(idOf(one))).slice(0, limit);
  const texts = await readTexts(
    deps.store,
    tenantId,
    shown.map((one) => documents.get(idOf(one))!),
  );
  const termsOf = ownTerms(query, shown);
  return shown.flatMap((one): SearchHit[] => {
    const document = documents.get(idOf(one))!;
    const text = texts.get(document.id);
    const partition = partitions.get(document.partitionId);
    if (!text || !partition) return [];
    const { score, coverage, cosine, features } = one;
    const { own, asked } = termsOf.get(one)!;
    return [{ document, partition, text, score, coverage, cosine, features, terms: own, askedTerms: asked }];
  });
}

interface TermsOfHit {
  readonly own: string[];
  readonly asked: string[];
}

/** Which terms each hit has itself, and not only its neighbours; and which the question has that it answers. */
function ownTerms(query: Query, hits: readonly Ranked[]): Map<Ranked, TermsOfHit> {
  const found = new Map(hits.map((hit): [Ranked, TermsOfHit] => [hit, { own: [], asked: [] }]));
  for (const [{ terms, table }, some] of groupBy(hits, ({ partition }) => partition)) {
    const byRow = new Map<number, string[][]>();
    const note = (row: number, list: string[]) => byRow.set(row, [...(byRow.get(row) ?? []), list]);
    for (const hit of some) {
      const { own, asked } = found.get(hit)!;
      note(hit.row, own);
      if (hit.features.answersQuestion > 0) note(table.before[hit.row]!, asked);
    }
    const isLookedFor = new Uint8Array(1 + Math.max(...byRow.keys()));
    for (const row of byRow.keys()) isLookedFor[row] = 1;
    query.terms.forEach((term, at) => {
      for (const row of terms[at]!.rows)
        if (isLookedFor[row] === 1) for (const list of byRow.get(row)!) list.push(term);
    });
  }
  return found;
}
