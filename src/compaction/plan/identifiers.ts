import type { Message } from "../../domain/message.js";
import { findIdentifiers, type IdentifierKind } from "./find-identifiers.js";
import type { FoldedTurn } from "./summary-task.js";

const mostOpen = 16;

/** Everything in the text that must not be paraphrased, each once, in order of its first place. */
export function identifiersIn(text: string): string[] {
  return [...new Set(findIdentifiers(text).map((found) => found.text))];
}

const named = new Set<IdentifierKind>(["url", "email", "path", "id", "code", "handle", "tag"]);
const unfinished =
  /[-*] \[ \]|\b(?:TODO|FIXME|to do|remaining|next steps?|pending|not yet|still (?:need|have|must|open)|left to do|blocked|waiting (?:for|on)|follow[- ]up|open (?:items?|tasks?|questions?))\b/iu;

/**
 * Identifiers of open work, at most 16, the most used first: names of things (not amounts, dates or versions) in the
 * folded turns that stand in unfinished work there or that the kept turns still use.
 */
export function openIdentifiers(folded: readonly FoldedTurn[], kept: readonly FoldedTurn[]): string[] {
  const inFolded = new Map<string, number>();
  const open = new Set<string>();
  const answered = answeredCalls([...folded, ...kept]);
  for (const { messages } of folded) {
    for (const { text, callId } of messages.flatMap(textsOf)) {
      const isUnanswered = callId !== undefined && !answered.has(callId);
      for (const line of linesOf(text)) {
        const isOpen = isUnanswered || unfinished.test(line.slice(0, 2_000));
        for (const id of namesIn(line)) {
          inFolded.set(id, (inFolded.get(id) ?? 0) + 1);
          if (isOpen) open.add(id);
        }
      }
    }
  }
  const inKept = new Map<string, number>();
  for (const { text } of kept.flatMap(({ messages }) => messages.flatMap(textsOf)))
    for (const id of namesIn(text)) if (inFolded.has(id)) inKept.set(id, (inKept.get(id) ?? 0) + 1);
  const uses = (id: string) => (inFolded.get(id) ?? 0) + (inKept.get(id) ?? 0);
  return [...inFolded.keys()]
    .filter((id) => open.has(id) || inKept.has(id))
    .map((id, order) => ({ id, order, uses: uses(id) }))
    .sort((a, b) => b.uses - a.uses || a.order - b.order)
    .slice(0, mostOpen)
    .map(({ id }) => id);
}

/** Whether the text has the identifier as it is, not as a piece of a longer one. */
export function mentions(text: string, id: string): boolean {
  for (let at = text.indexOf(id); at >= 0 && id !== ""; at = text.indexOf(id, at + 1)) {
    const before = isWordChar(id[0]!) && isWordChar(text[at - 1] ?? " ");
    const after = isWordChar(id.at(-1)!) && isWordChar(text[at + id.length] ?? " ");
    if (!before && !after) return true;
  }
  return false;
}

function isWordChar(char: string): boolean {
  return /[\p{L}\p{N}_]/u.test(char);
}

function namesIn(text: string): string[] {
  return findIdentifiers(text)
    .filter((found) => named.has(found.kind) && found.text.length >= 3)
    .map((found) => found.text);
}

function* linesOf(text: string): Generator<string, void> {
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    if (end > at) yield text.slice(at, end);
    at = end + 1;
  }
}

function answeredCalls(turns: readonly FoldedTurn[]): Set<string> {
  const ids = new Set<string>();
  for (const { messages } of turns)
    for (const { parts } of messages)
      for (const { content } of parts) if (content?.$case === "toolResult") ids.add(content.value.callId);
  return ids;
}

function textsOf(message: Message): { readonly text: string; readonly callId?: string }[] {
  return message.parts.flatMap(({ content }) => {
    switch (content?.$case) {
      case "text":
        return [{ text: content.value.text }];
      case "toolCall":
        return [{ text: content.value.argumentsJson, callId: content.value.callId }];
      case "toolResult":
        return content.value.content.flatMap((piece) =>
          piece.content?.$case === "text" ? [{ text: piece.content.value.text }] : [],
        );
      case "approvalRequest":
        return [{ text: content.value.prompt }];
      case "file":
        return [{ text: content.value.name }];
      default:
        return [];
    }
  });
}
