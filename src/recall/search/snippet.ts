import { analyse, fold, termOf } from "../terms/analyse.js";

/** A piece of a text, and where in it what was asked for is: offsets and lengths in UTF-16 units of the snippet. */
export interface Snippet {
  readonly text: string;
  readonly highlights: readonly { readonly start: number; readonly length: number }[];
}

const maxHighlights = 64;
const maxScanned = 128 * 1024;
const word = /[\p{L}\p{M}\p{N}_]+(?:['’]\p{L}+)*/gu;

/** The stretch of a text that says most of a query, cut at words. */
export function snippetOf(text: string, terms: ReadonlySet<string>, maxChars: number): Snippet {
  const hits: { readonly start: number; readonly end: number; readonly term: string }[] = [];
  const scanned = text.slice(0, maxScanned);
  for (const match of scanned.matchAll(word)) {
    const found = hitOf(match[0], terms);
    if (found !== undefined)
      hits.push({ start: match.index, end: match.index + match[0].length, term: found });
  }
  const start = bestStart(text, hits, maxChars);
  const end = wordEnd(text, Math.min(text.length, start + maxChars), start);
  const head = start > 0 ? "…" : "";
  const piece = text.slice(start, end);
  return {
    text: `${head}${piece}${end < text.length ? "…" : ""}`,
    highlights: hits
      .filter((hit) => hit.start >= start && hit.end <= end)
      .slice(0, maxHighlights)
      .map((hit) => ({ start: hit.start - start + head.length, length: hit.end - hit.start })),
  };
}

/** The term that a word stands for, if it was asked for. */
function hitOf(found: string, terms: ReadonlySet<string>): string | undefined {
  const plain = fold(found);
  const term = termOf(plain);
  if (term !== "" && terms.has(term)) return term;
  if (!/[^\p{ASCII}]|\p{Ll}\p{Lu}|_|\p{L}\p{N}|\p{N}\p{L}/u.test(plain) || plain.length > 200)
    return undefined;
  for (const part of analyse(plain).terms.keys()) if (terms.has(part)) return part;
  return undefined;
}

/** Where to begin so that most different terms are seen; the beginning, where it makes no difference. */
function bestStart(
  text: string,
  hits: readonly { readonly start: number; readonly end: number; readonly term: string }[],
  maxChars: number,
): number {
  if (text.length <= maxChars || hits.length === 0) return 0;
  let best = 0;
  let bestSeen = 0;
  for (let from = 0, to = 0; from < hits.length; from++) {
    while (to < hits.length && hits[to]!.end - hits[from]!.start <= maxChars * 0.8) to++;
    const seen = new Set(hits.slice(from, Math.min(to, from + 64)).map(({ term }) => term)).size;
    if (seen > bestSeen) {
      bestSeen = seen;
      best = hits[from]!.start;
    }
  }
  const wanted = Math.max(0, best - Math.floor(maxChars * 0.1));
  if (wanted === 0) return 0;
  const space = text.slice(wanted, best).search(/\s/u);
  return space < 0 ? safeCut(text, wanted) : wanted + space + 1;
}

function wordEnd(text: string, end: number, start: number): number {
  if (end >= text.length) return text.length;
  const back = text.slice(Math.max(start, end - 40), end).search(/\s\S*$/u);
  return back < 0 ? safeCut(text, end) : Math.max(start, end - 40) + back;
}

/** Not inside of a pair of surrogates. */
function safeCut(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}
