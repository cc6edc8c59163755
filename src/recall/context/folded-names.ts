import { MessageRole } from "../../domain/message.js";
import { fill } from "../../domain/prompt-texts.js";
import { SourceFormat } from "../../domain/source.js";
import type { Steps } from "../../domain/steps.js";
import type { SourceRules } from "../../sources/rules.js";
import type { ShownHistory, SourceBlock, SourceView } from "../../sources/source.js";
import { messageWords } from "../documents/message-words.js";
import type { SearchHit } from "../search/search.js";
import { unframed } from "./memory-block.js";
import type { MessageNames } from "./message-names.js";

/** What the block of names is known by. */
const title = "names";
/** What the model did last: so many steps of its loop. */
const lastSteps = 2;
const maxCallChars = 4_000;
const maxResultChars = 1_000;
/** More of history is not looked through, from its end back. */
const maxShownChars = 256 * 1024;
/** Names have more tokens than their length says. */
const charsPerToken = 3;
const frameTokens = 48;
const maxTokens = 512;

/** What a model that goes on in a loop of tools did last: what it said and called, and how the results begin. */
export function lastStepsOf(history: ShownHistory): string {
  const texts: string[] = [];
  let steps = 0;
  for (const message of history.newestFirst()) {
    const isResult = message.role === MessageRole.TOOL;
    texts.push(messageWords(message).slice(0, isResult ? maxResultChars : maxCallChars));
    if (message.role === MessageRole.ASSISTANT && ++steps === lastSteps) break;
    if (message.role === MessageRole.USER) break;
  }
  return texts.join("\n");
}

/**
 * The names in folded texts that history does not show, text by text as they were found, as far as there is room. A path or a symbol takes a few
 * tokens where its text takes hundreds, and is what a model cannot guess.
 */
export function* foldedNames(
  hits: readonly SearchHit[],
  history: ShownHistory,
  roomTokens: number,
  known: MessageNames,
): Steps<string[]> {
  const said = yield* shownNames(history, known);
  const names: string[] = [];
  let left = Math.min(maxTokens, roomTokens) - frameTokens;
  for (const { document, text } of hits) {
    for (const name of known.of(document.refId, document.messageIndex, text.text)) {
      if (said.has(name)) continue;
      left -= Math.ceil((name.length + 2) / charsPerToken);
      if (left < 0) return names;
      said.add(name);
      names.push(name);
    }
    yield;
  }
  return names;
}

/** What history names, with what was sent beside it; of paths also the last part. */
function* shownNames(history: ShownHistory, known: MessageNames): Steps<Set<string>> {
  const names = new Set<string>();
  let left = maxShownChars;
  for (const { turnId, index, contextParts, parts } of history.newestFirst()) {
    const text = messageWords({ parts: [...contextParts, ...parts] });
    for (const name of known.of(turnId, index, text)) {
      names.add(name);
      if (name.includes("/")) names.add(name.slice(name.lastIndexOf("/") + 1));
    }
    left -= text.length;
    if (left < 0) break;
    yield;
  }
  return names;
}

/** Names as a block of a context. */
export function namesBlock(
  names: readonly string[],
  { texts, nowMs }: SourceView,
  { format }: SourceRules,
): SourceBlock {
  const about = { title, entities: [], detail: `${names.length} names`, isWhole: true };
  const known = { id: title, from: "earlier messages", time: new Date(nowMs).toISOString() };
  if (format === SourceFormat.STRUCTURED)
    return { ...about, content: unframed(JSON.stringify({ ...known, names })) };
  return {
    ...about,
    content: unframed(fill(texts["memory-names"], { names: names.join(", ") })),
    frame: { open: `${fill(texts["memory-open"], known)}\n`, close: `\n${texts["memory-close"]}` },
  };
}
