import { MessageRole } from "../../domain/message.js";
import type { SourceView } from "../../sources/source.js";
import type { SearchStore } from "../../storage/recall/search-store.js";
import { decodeMessages } from "../../thread/message-codec.js";
import { messageWords } from "../documents/message-words.js";
import type { SearchHit } from "../search/search.js";

/** Of history, so many turns are looked through for what was recalled already. */
const lookedThrough = 16;
const maxChars = 16 * 1024;

/** What was said last: the newest turn, and those that the query is to be made from as well. */
export async function lastWords(
  store: SearchStore,
  { tenantId, headTurnId, history }: SourceView,
  askedTurns: number,
): Promise<{ readonly newest: string; readonly asked: readonly string[] }> {
  const turns = (history?.turns ?? []).map(({ turnId }) => turnId);
  const wanted = [...new Set([...turns.slice(turns.length - Math.max(0, askedTurns)), headTurnId])].filter(
    Boolean,
  );
  if (wanted.length === 0) return { newest: "", asked: [] };
  const texts = new Map<string, string>();
  for (const { turnId, wire } of await store.messages(tenantId, wanted)) {
    const words = decodeMessages(wire)
      .filter(({ role }) => role === MessageRole.USER || role === MessageRole.ASSISTANT)
      .map(messageWords);
    texts.set(turnId, [texts.get(turnId) ?? "", ...words].join("\n").slice(0, maxChars));
  }
  const asked = askedTurns > 0 ? turns.slice(-askedTurns).map((turnId) => texts.get(turnId) ?? "") : [];
  return { newest: texts.get(headTurnId) ?? "", asked };
}

/** Without what a shown turn was sent with before: history still shows it. Each text once. */
export async function alreadyShown(
  store: SearchStore,
  { tenantId, history }: SourceView,
  hits: readonly SearchHit[],
): Promise<SearchHit[]> {
  if (hits.length === 0) return [];
  const turns = (history?.turns ?? []).slice(-lookedThrough).map(({ turnId }) => turnId);
  const sent: string[] = [];
  for (const { wire } of turns.length > 0 ? await store.messages(tenantId, turns) : [])
    for (const { contextParts } of decodeMessages(wire))
      if (contextParts.length > 0) sent.push(messageWords({ parts: contextParts }));
  const seen = new Set<string>();
  return hits.filter(({ document }) => {
    const key = document.contentHash.toString();
    const isSent = sent.some((text) => text.includes(memoryMark(document)));
    if (isSent || seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** What a recalled text is known by in a context: the id of its entry, or its turn and place. */
export function memoryMark({ refId, branchId, messageIndex }: SearchHit["document"]): string {
  return branchId === null ? refId : `${refId}/${messageIndex}`;
}
