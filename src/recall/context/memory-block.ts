import { fromMicroseconds } from "../../domain/clock.js";
import { namesIn } from "../../domain/names.js";
import { fill } from "../../domain/prompt-texts.js";
import { SourceFormat } from "../../domain/source.js";
import type { SourceRules } from "../../sources/rules.js";
import type { SourceBlock, SourceView } from "../../sources/source.js";
import type { SearchHit } from "../search/search.js";
import { snippetOf } from "../search/snippet.js";
import { termOf } from "../terms/analyse.js";
import type { Exchange, Neighbour } from "./exchange.js";
import { memoryMark } from "./shown-texts.js";

/** A longer text is shown by the stretch that says most. */
const maxTextChars = 1_200;
const maxSummaryChars = 240;
/** Of a message that only explains another, the end that is next to it. */
const maxNeighbourChars = 400;
const maxNames = 12;
const maxWords = 12;
/** Half of a character that was cut in two. */
const halfBefore = /^[\uDC00-\uDFFF]/u;
const halfAfter = /[\uD800-\uDBFF]$/u;

/** A text as a model is shown it: whole, or the stretch of it that says most. */
export function shownText({ text, terms }: SearchHit, maxChars = maxTextChars): string {
  return text.text.length <= maxChars ? text.text : snippetOf(text.text, new Set(terms), maxChars).text;
}

/** What was found as a block of a context, in the format that the rules say; where there is no room for more, at most so many characters of it. */
export function memoryBlock(
  exchange: Exchange,
  view: SourceView,
  { format }: SourceRules,
  maxChars = maxTextChars,
): SourceBlock {
  const { hit } = exchange;
  const { document, partition, coverage, cosine } = hit;
  const mark = memoryMark(document);
  const from = partition.kind === "message" ? roleName(document.role) : "archival memory";
  const time = fromMicroseconds(document.timeUs).toISOString();
  const about = {
    title: mark,
    entities: [],
    detail: `coverage ${coverage.toFixed(2)}${cosine === undefined ? "" : `, cosine ${cosine.toFixed(2)}`}`,
  };
  const text =
    format === SourceFormat.SUMMARY
      ? shownText(hit, Math.min(maxChars, maxSummaryChars))
      : exchangeText(exchange, maxChars);
  if (format === SourceFormat.STRUCTURED) {
    const known = { id: mark, from, ...(document.speaker ? { speaker: document.speaker } : {}), time, text };
    const facets = { names: [...namesIn(text)].slice(0, maxNames), about: eventWords(hit, view) };
    return { ...about, content: unframed(JSON.stringify({ ...known, ...facets })), isWhole: true };
  }
  return {
    ...about,
    content: unframed(text),
    frame: {
      open: `${fill(view.texts["memory-open"], { id: mark, from, time })}\n`,
      close: `\n${view.texts["memory-close"]}`,
    },
  };
}

/** Nothing in it begins or ends a frame. */
export function unframed(text: string): string {
  return text.replaceAll(/<(?=\/?memory\b)/giu, "‹");
}

function exchangeText({ hit, before, after }: Exchange, maxChars: number): string {
  const own = shownText(hit, maxChars);
  // Where not even the text itself fits, what explains it does not come.
  if (maxChars < maxTextChars) return own;
  if (!before && !after) return own;
  const said = (role: string, text: string) => `${roleName(role)}: ${text}`;
  return [
    ...(before ? [said(before.role, clipped(before, "end"))] : []),
    said(hit.document.role, own),
    ...(after ? [said(after.role, clipped(after, "start"))] : []),
  ].join("\n");
}

function clipped({ text }: Neighbour, side: "start" | "end"): string {
  if (text.length <= maxNeighbourChars) return text;
  return side === "end"
    ? `…${text.slice(-maxNeighbourChars).replace(halfBefore, "")}`
    : `${text.slice(0, maxNeighbourChars).replace(halfAfter, "")}…`;
}

/** The words of the event that a text has, as the event writes them. */
function eventWords({ terms }: SearchHit, { eventText }: SourceView): string[] {
  const has = new Set(terms);
  const words = [...eventText.slice(0, 16_384).matchAll(/[\p{L}\p{N}]+/gu)].map(([word]) => word);
  return [...new Set(words.filter((word) => has.has(termOf(word))))].slice(0, maxWords);
}

export function roleName(role: string): string {
  return role.replace("MESSAGE_ROLE_", "").toLowerCase();
}
