import { fromMicroseconds } from "../../domain/clock.js";
import { fill } from "../../domain/prompt-texts.js";
import type { SourceRules } from "../../sources/rules.js";
import type { SourceBlock, SourceView } from "../../sources/source.js";
import type { SearchAnswer, SearchHit } from "../search/search.js";
import { snippetOf } from "../search/snippet.js";
import { isCompound } from "../terms/analyse.js";
import { memoryMark } from "./shown-texts.js";

/** A longer text is shown by the stretch that says most. */
const maxTextChars = 1_200;
const charsPerToken = 4;
/** What frame and heading cost, about. */
const frameTokens = 24;

/**
 * Whether a text is about what was asked, and not only near it by chance: it is near in meaning, has an identifier of the query, or
 * says much of it, in two words at least where the query has more than one.
 */
export function isTelling(
  { cosine, terms, coverage, features }: SearchHit,
  { query }: SearchAnswer,
  leastCoverage: number,
  leastCosine: number,
): boolean {
  if (cosine !== undefined && cosine >= leastCosine && coverage > 0) return true;
  if (terms.some(isCompound)) return true;
  const enough = Math.min(2, query.terms.filter((term) => !isCompound(term)).length);
  const isNear = features.answersQuestion > 0 || terms.length >= enough;
  return coverage >= leastCoverage && isNear && (terms.length > 0 || features.answersQuestion > 0);
}

/** As many as there is room for: those first that say most for what they cost, then in the order of time. */
export function fitMemories(
  hits: readonly SearchHit[],
  view: SourceView,
  rules: SourceRules,
  limit: number,
): SourceBlock[] {
  const room = Math.min(rules.maxTokens, view.budgetTokens);
  const offered = hits.map((hit) => {
    const text = shownText(hit);
    const tokens = frameTokens + Math.ceil(text.length / charsPerToken);
    return { hit, text, tokens };
  });
  const byWorth = [...offered].sort((a, b) => worth(b) - worth(a));
  const kept: typeof offered = [];
  let used = 0;
  for (const one of byWorth) {
    if (kept.length >= limit || used + one.tokens > room) continue;
    kept.push(one);
    used += one.tokens;
  }
  kept.sort(
    (a, b) => Number(a.hit.document.timeUs - b.hit.document.timeUs) || a.hit.document.id - b.hit.document.id,
  );
  return kept.map(({ hit, text }) => blockOf(hit, text, view));
}

/** A text twice as long must say more than another, but not twice as much. */
function worth({ hit, tokens }: { readonly hit: SearchHit; readonly tokens: number }): number {
  return (hit.coverage + Math.max(0, hit.cosine ?? 0)) / Math.sqrt(tokens);
}

/** A text as a model is shown it: whole, or the stretch of it that says most. */
export function shownText({ text, terms }: SearchHit): string {
  return text.text.length <= maxTextChars
    ? text.text
    : snippetOf(text.text, new Set(terms), maxTextChars).text;
}

function blockOf(hit: SearchHit, text: string, { texts }: SourceView): SourceBlock {
  const { document, partition, coverage, cosine } = hit;
  const mark = memoryMark(document);
  const from = partition.kind === "message" ? roleName(document.role) : "archival memory";
  const time = fromMicroseconds(document.timeUs).toISOString();
  return {
    title: mark,
    // Nothing in it ends the frame.
    content: text.replaceAll(/<(?=\/?memory\b)/giu, "‹"),
    frame: {
      open: `${fill(texts["memory-open"], { id: mark, from, time })}\n`,
      close: `\n${texts["memory-close"]}`,
    },
    entities: [],
    detail: `coverage ${coverage.toFixed(2)}${cosine === undefined ? "" : `, cosine ${cosine.toFixed(2)}`}`,
  };
}

export function roleName(role: string): string {
  return role.replace("MESSAGE_ROLE_", "").toLowerCase();
}
