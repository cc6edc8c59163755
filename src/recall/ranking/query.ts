import { analyse, fold, isCompound } from "../terms/analyse.js";
import { type NamedSpan, namedSpans } from "./dates.js";

/** What is asked, taken apart. Any text is a query. */
export interface Query {
  readonly text: string;
  readonly terms: readonly string[];
  /** The words as they are, in small letters: names of speakers are looked for in them. */
  readonly words: ReadonlySet<string>;
  readonly spans: readonly NamedSpan[];
  readonly asksWhen: boolean;
}

/** What a long text is about is said in fewer terms; each costs a look at the index. */
const maxTerms = 48;
const maxChars = 16 * 1024;

export function readQuery(given: string, nowMs: number): Query {
  const text = given.length > maxChars ? given.slice(0, maxChars) : given;
  const { terms } = analyse(text);
  // Names with a joint first, then what is said most often: in a long text the rest is chance.
  const chosen = [...terms]
    .sort(([a, x], [b, y]) => Number(isCompound(b)) - Number(isCompound(a)) || y - x)
    .slice(0, maxTerms)
    .map(([term]) => term);
  const words = new Set(
    [
      ...fold(text)
        .toLowerCase()
        .matchAll(/[\p{L}\p{N}]+/gu),
    ].map(([word]) => word),
  );
  return {
    text,
    terms: chosen,
    words,
    spans: namedSpans(text, nowMs),
    asksWhen:
      /^\s*(?:so |and |but )?(?:when|what (?:day|date|month|year)|which (?:day|month|year)|how long ago)\b/iu.test(
        text,
      ),
  };
}
