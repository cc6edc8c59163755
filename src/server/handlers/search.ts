import type { MessageRole } from "../../contract/gen/quire/v1/message.js";
import {
  SearchContent,
  SearchMode,
  type SearchRequest,
  type SearchResponse,
  type SearchResult,
} from "../../contract/gen/quire/v1/search.js";
import { fromMicroseconds } from "../../domain/clock.js";
import type { OwnerKind } from "../../domain/memory.js";
import { actorOf } from "../../memory/permissions.js";
import type { RecallDeps } from "../../recall/deps.js";
import {
  defaultSimilarity,
  type SearchMode as Mode,
  type SearchHit,
  search,
} from "../../recall/search/search.js";
import { snippetOf } from "../../recall/search/snippet.js";
import type { DocumentKind } from "../../storage/recall/search-store.js";

const kinds: Readonly<Partial<Record<SearchContent, DocumentKind>>> = {
  [SearchContent.BLOCK]: "block",
  [SearchContent.ARCHIVAL]: "archival",
  [SearchContent.MESSAGE]: "message",
};

const contents: Readonly<Record<DocumentKind, SearchContent>> = {
  block: SearchContent.BLOCK,
  archival: SearchContent.ARCHIVAL,
  message: SearchContent.MESSAGE,
};

const modes: Readonly<Partial<Record<SearchMode, Mode>>> = {
  [SearchMode.KEYWORD]: "keyword",
  [SearchMode.VECTOR]: "vector",
  [SearchMode.HYBRID]: "hybrid",
};

const usedModes = {
  keyword: SearchMode.KEYWORD,
  vector: SearchMode.VECTOR,
  hybrid: SearchMode.HYBRID,
} as const;

const defaultLimit = 10;
const defaultSnippetChars = 240;

/** MemoryService.Search. */
export async function searchMemory(
  recall: RecallDeps,
  tenantId: string,
  request: SearchRequest,
  signal?: AbortSignal,
): Promise<SearchResponse> {
  const asked = request.contents.flatMap((content) => kinds[content] ?? []);
  const answer = await search(
    recall,
    tenantId,
    {
      query: request.query,
      actor: actorOf(request.actor),
      owner: request.owner,
      kinds: new Set(asked.length > 0 ? asked : (["block", "archival", "message"] as const)),
      session: request.session === "" ? undefined : request.session,
      mode: modes[request.mode] ?? "auto",
      afterMs: request.after?.getTime(),
      beforeMs: request.before?.getTime(),
      metadata: request.metadata,
      speaker: request.speaker,
      limit: request.limit || defaultLimit,
      similarityThreshold: request.similarityThreshold ?? defaultSimilarity,
    },
    signal,
  );
  const terms = new Set(answer.query.terms);
  const snippetChars = request.snippetChars || defaultSnippetChars;
  return {
    results: answer.hits.map((hit) => viewHit(hit, terms, snippetChars)),
    mode: usedModes[answer.mode],
    note: answer.note,
    pending: answer.pending,
    withoutVector: answer.withoutVector,
  };
}

function viewHit(hit: SearchHit, terms: ReadonlySet<string>, snippetChars: number): SearchResult {
  const { document, partition, text, score, coverage, cosine, features } = hit;
  const isMessage = partition.kind === "message";
  const { text: snippet, highlights } = snippetOf(text.text, terms, snippetChars);
  return {
    content: contents[partition.kind],
    id: isMessage ? text.messageId : document.refId,
    owner: { kind: partition.ownerKind as OwnerKind, name: partition.ownerName },
    label: text.label,
    sessionId: document.sessionId ?? "",
    turnId: isMessage ? document.refId : "",
    messageIndex: document.messageIndex,
    role: (document.role || "MESSAGE_ROLE_UNSPECIFIED") as MessageRole,
    speaker: document.speaker,
    time: fromMicroseconds(document.timeUs),
    score,
    snippet,
    highlights: [...highlights],
    o200kTokens: document.o200kTokens,
    metadataJson: document.metadataJson,
    match: {
      terms: [...hit.terms],
      coverage,
      byNeighbours: hit.terms.length === 0 && features.terms > 0,
      date: features.date,
      speaker: features.speaker,
      answersQuestion: features.answersQuestion > 0,
      cosine,
    },
  };
}
