import type { SearchAnswer, SearchHit } from "../search/search.js";
import { analyse, fold, isCompound, termOf } from "../terms/analyse.js";

/** How much a text must say of what was asked. */
export interface TellingRule {
  /** Of the whole, or of a question in it, by how rare its words are. */
  readonly coverage: number;
  readonly cosine: number;
}

/** More of a query is not taken apart. */
const maxClauses = 128;
/** How rare the words of a text must be that it shares with what was asked: by chance fewer than one text in 150 (e to the power of this) has them. */
const leastRarity = 5;
/** Of fewer texts nobody can say which words they all have. */
const severalTexts = 8;
/** A word is rare that at most three texts have, or one in a hundred. */
const fewTexts = 3;
const rareShare = 0.01;
/** Behind the end of a sentence; a point in a number or a path is none. */
const sentenceEnd = /(?<=[.!?])\s+|\n+|(?<=[。！？])/gu;
const clauseEnd = /[;:,]+(?=\s)|[；：，、]+|\s(?:and|or|but|then)(?=\s)/giu;
const questionEnd = /[?？][\s"'”’)]*$/u;
/** A capital that does not begin a sentence. */
const midSentenceName = /(?<=[\p{L}\p{N},;)][ \t]+)\p{Lu}\p{Ll}[\p{L}'’]+/gu;
const maxNamedChars = 4 * 1024;
/** Days and months have capitals, and are nobody's name. */
const calendar = new Set(
  "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december"
    .split(" ")
    .map(termOf),
);

/**
 * The hits that are about what was asked, and not only near it by chance. A message says many things, so a text is about it that says enough of
 * the whole, or of one question in it, or shares two rare words of one sentence or the next, or somebody's name. Words that no text here has,
 * or most of them, say nothing about which is meant.
 */
export function tellingHits(answer: SearchAnswer, { coverage, cosine }: TellingRule): SearchHit[] {
  const { query, hits, rarities, documents } = answer;
  const textsWith = (term: string) => rarities.get(term)?.documents ?? 0;
  const isRare = (term: string) => textsWith(term) <= Math.max(fewTexts, documents * rareShare);
  const isEverywhere = (term: string) => documents >= severalTexts && textsWith(term) > documents / 2;
  const rarity = (terms: readonly string[]) =>
    terms.reduce((sum, term) => sum + (rarities.get(term)?.idf ?? 0), 0);
  const known = (text: string) =>
    [...analyse(text).terms.keys()].filter((term) => !isCompound(term) && textsWith(term) > 0);
  const sentences = pieces(query.text, sentenceEnd);
  const words = sentences.map(known);
  const asked = sentences
    .filter((sentence) => questionEnd.test(sentence))
    .flatMap((sentence) => pieces(sentence, clauseEnd).map(known));
  const enough = Math.min(2, query.terms.filter((term) => !isCompound(term)).length);
  const named = properNames(query.text);
  return hits.filter((hit) => {
    if (hit.cosine !== undefined && hit.cosine >= cosine && hit.coverage > 0) return true;
    if (hit.terms.some(isCompound)) return true;
    const says = new Set([...hit.terms, ...hit.askedTerms].filter((term) => !isEverywhere(term)));
    if (rarity([...says]) >= leastRarity) {
      if (hit.coverage >= coverage && says.size >= enough) return true;
      const isAnswer = (clause: readonly string[]) => {
        const own = clause.filter((term) => says.has(term));
        return own.length >= 2 && rarity(own) >= coverage * rarity(clause);
      };
      if (asked.some(isAnswer)) return true;
    }
    const rare = new Set([...says].filter(isRare));
    if (rare.size === 0) return false;
    const areClose = (terms: readonly string[], at: number) =>
      new Set([...terms, ...(words[at + 1] ?? [])].filter((term) => rare.has(term))).size >= 2;
    if (words.some(areClose)) return true;
    const own = properNames(hit.text.text);
    return [...rare].some((term) => named.has(term) || own.has(term));
  });
}

/** How many things a text asks at once, about. */
export function sentencesIn(text: string): number {
  return pieces(text, sentenceEnd).length;
}

function pieces(text: string, end: RegExp): string[] {
  return text
    .split(end)
    .filter((piece) => piece.trim() !== "")
    .slice(0, maxClauses);
}

/** The terms of what is written like a name. */
function properNames(text: string): Set<string> {
  const found = [...fold(text.slice(0, maxNamedChars)).matchAll(midSentenceName)].map(([name]) =>
    termOf(name),
  );
  return new Set(found.filter((term) => term !== "" && !calendar.has(term)));
}
