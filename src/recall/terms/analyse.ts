import { stemmer } from "stemmer";
import { atOnce, type Steps } from "../../domain/steps.js";
import { irregularForms } from "./irregular-forms.js";
import { stopWords } from "./stop-words.js";

/** How often each term is in a text, and how many words it has. */
export interface AnalysedText {
  readonly terms: ReadonlyMap<string, number>;
  readonly length: number;
}

/** What is behind it is not searched: no text is worth more terms. */
const maxChars = 128 * 1024;
const maxTermChars = 200;

const words = /[\p{L}\p{N}]+(?:['’]\p{L}+)*/gu;
/** Names with a joint in them: paths, identifiers, addresses, versions, numbers of tickets. */
const compounds = /(?<![\p{L}\p{N}])[\p{L}\p{N}]+(?:[./\\:@_#-]{1,3}[\p{L}\p{N}]+)+/gu;
/** Scripts that put no spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;
const unspacedOne =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const beyondAscii = /[^\p{ASCII}]/u;
const humps = /\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lu}+|\p{N}+/gu;
const hasHump = /\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll}|\p{L}\p{N}|\p{N}\p{L}/u;

/** The same analysis for what is searched and for what is asked, on both databases. */
export function analyse(text: string): AnalysedText {
  return atOnce(analysis(text));
}

/** So many words are a step. */
const stepWords = 256;

/** The same in small steps: of a long text it takes longer than the event loop may be held. */
export function* analysis(text: string): Steps<AnalysedText> {
  const counts = new Map<string, number>();
  let length = 0;
  const add = (term: string) => {
    if (term !== "" && term.length <= maxTermChars) counts.set(term, (counts.get(term) ?? 0) + 1);
  };
  const folded = fold(text.length > maxChars ? text.slice(0, maxChars) : text);
  for (const [found] of folded.matchAll(words)) {
    if (++length % stepWords === 0) yield;
    if (unspacedOne.test(found)) addMixed(found, add);
    else addWord(found, add);
  }
  let names = 0;
  for (const [found] of folded.matchAll(compounds)) {
    if (++names % stepWords === 0) yield;
    addCompound(found, add);
  }
  return { terms: counts, length };
}

/** Terms for a name as a whole begin with this. */
const whole = "=";

/** Whether a term is a name with a joint in it, such as a path: rarely there by chance. */
export function isCompound(term: string): boolean {
  return term.startsWith(whole);
}

/** Without accents, and with one form for letters that look the same. */
export function fold(text: string): string {
  return beyondAscii.test(text) ? text.normalize("NFKD").replace(/\p{M}+/gu, "") : text;
}

/** A word as the index has it; empty where it says nothing. */
export function termOf(word: string): string {
  const lower = word.toLowerCase().replace(/['’](s|re|ve|ll|d|m|t)?$/u, "");
  if (stopWords.has(lower)) return "";
  return stemOf(lower.replace(/['’]/gu, ""));
}

const stems = new Map<string, string>();
const maxStems = 50_000;

function stemOf(lower: string): string {
  let stem = stems.get(lower);
  if (stem === undefined) {
    stem = lower.length > 40 ? lower : stemmer(irregularForms.get(lower) ?? lower);
    stem = irregularForms.get(stem) ?? stem;
    if (stems.size >= maxStems) stems.clear();
    stems.set(lower, stem);
  }
  return stem;
}

function addWord(word: string, add: (term: string) => void): void {
  add(termOf(word));
  if (word.length > maxTermChars || !hasHump.test(word)) return;
  const parts = word.match(humps) ?? [];
  if (parts.length > 1) for (const part of parts) if (part.length > 1) add(termOf(part));
}

/** Characters of an unspaced script by twos, what is between them as words. */
function addMixed(word: string, add: (term: string) => void): void {
  let at = 0;
  for (const match of word.matchAll(unspaced)) {
    if (match.index > at) addWord(word.slice(at, match.index), add);
    const characters = [...match[0]];
    if (characters.length === 1) add(characters[0]!);
    for (let i = 0; i + 1 < characters.length; i++) add(characters[i]! + characters[i + 1]!);
    at = match.index + match[0].length;
  }
  if (at < word.length) addWord(word.slice(at), add);
}

/** The name as a whole, and the last step of a path. */
function addCompound(found: string, add: (term: string) => void): void {
  const lower = found.toLowerCase().replaceAll("\\", "/");
  add(whole + lower);
  const steps = lower.split("/");
  if (steps.length > 1 && steps.at(-1) !== "") {
    add(whole + steps.at(-1));
    if (steps.length > 2) add(`${whole}${steps.at(-2)}/${steps.at(-1)}`);
  }
}
