import { MessageRole } from "../../domain/message.js";
import type { PromptTexts } from "../../domain/prompt-texts.js";
import { saysTitle } from "../../sources/says-title.js";
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

/** What shown turns were sent with: history still shows it. */
export async function sentContexts(
  store: SearchStore,
  { tenantId, history }: SourceView,
): Promise<readonly string[]> {
  const turns = (history?.turns ?? []).slice(-lookedThrough).map(({ turnId }) => turnId);
  const sent: string[] = [];
  for (const { wire } of turns.length > 0 ? await store.messages(tenantId, turns) : [])
    for (const { contextParts } of decodeMessages(wire))
      if (contextParts.length > 0) sent.push(messageWords({ parts: contextParts }));
  return sent;
}

/** What was sent with no shown turn, and is not in the summary as it is. Each text once. */
export function unseen(hits: readonly SearchHit[], sent: readonly string[], told: string): SearchHit[] {
  const seen = new Set<string>();
  return hits.filter(({ document, text }) => {
    const key = document.contentHash.toString();
    const isSent = sent.some((text) => saysTitle(text, memoryMark(document)));
    if (isSent || seen.has(key) || told.includes(text.text.trim())) return false;
    seen.add(key);
    return true;
  });
}

/** What a recalled text is known by in a context: the id of its entry, or its turn and place. */
export function memoryMark({ refId, branchId, messageIndex }: SearchHit["document"]): string {
  return branchId === null ? refId : `${refId}/${messageIndex}`;
}

/** What of contexts that were sent is recalled texts, in any format. */
export function recalledIn(sent: readonly string[], texts: PromptTexts): string {
  const [open] = texts["memory-open"].split("{{");
  const close = texts["memory-close"];
  const found: string[] = [];
  for (const text of sent) {
    for (let at = open ? text.indexOf(open) : -1; at >= 0; ) {
      const end = text.indexOf(close, at);
      found.push(text.slice(at, end < 0 ? undefined : end));
      at = end < 0 ? -1 : text.indexOf(open!, end);
    }
    for (const line of text.split("\n")) if (line.startsWith(structuredStart)) found.push(line);
  }
  return found.join("\n");
}

/** How a recalled text begins that is written as JSON. */
const structuredStart = '{"id":"';
