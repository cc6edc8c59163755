import { findIdentifiers } from "../plan/find-identifiers.js";
import { numberWords, stopWords } from "./stop-words.js";

/** A run of words that is written out where no sentence says it: a name, or an identifier. */
export interface Phrase {
  readonly text: string;
  readonly terms: readonly number[];
  readonly isIdentifier: boolean;
}

const wordMark = { word: 0, name: 1, number: 2, identifier: 3 } as const;
const wordRun = /[\p{L}\p{N}][\p{L}\p{N}\p{M}'’_-]*/gu;
const wide = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]/u;
const mostWords = 96;

/** Every term of a conversation: how often it is said and whether as a name, which tells what it is worth. */
export class TermTable {
  private readonly ids = new Map<string, number>();
  private readonly uses: number[] = [];
  private readonly capitals: number[] = [];
  private readonly lowers: number[] = [];
  private readonly marks: number[] = [];
  private sentences = 0;

  /** Takes a sentence in; gives its terms, each once, and the names and identifiers in it. */
  add(sentence: string): { readonly terms: readonly number[]; readonly phrases: readonly Phrase[] } {
    this.sentences++;
    const terms = new Set<number>();
    const phrases: Phrase[] = [];
    const identifiers = findIdentifiers(sentence);
    for (const { text, kind } of identifiers) {
      if (kind === "date" || kind === "time" || kind === "amount") continue;
      const term = this.term(text.toLowerCase(), wordMark.identifier);
      terms.add(term);
      phrases.push({ text, terms: [term], isIdentifier: true });
    }
    this.addWords(sentence, terms, phrases);
    for (const term of terms) this.uses[term] = this.uses[term]! + 1;
    return { terms: [...terms], phrases };
  }

  private addWords(sentence: string, terms: Set<number>, phrases: Phrase[]): void {
    let run: { from: number; to: number; terms: number[] } | undefined;
    const close = () => {
      if (run)
        phrases.push({ text: sentence.slice(run.from, run.to), terms: run.terms, isIdentifier: false });
      run = undefined;
    };
    let isFirst = true;
    let words = 0;
    for (const match of sentence.matchAll(wordRun)) {
      if (++words > mostWords) break;
      const { text, key } = keyOf(match[0]);
      const at = match.index;
      const isInitial = isFirst || /[.!?:"“(*…]\s*$/u.test(sentence.slice(Math.max(0, at - 3), at));
      isFirst = false;
      if (run && !/^ ?$|^ [&] $/u.test(sentence.slice(run.to, at))) close();
      if (wide.test(text)) {
        close();
        for (let i = 0; i + 1 < text.length; i++) terms.add(this.term(text.slice(i, i + 2), wordMark.word));
        continue;
      }
      const hasDigit = /\p{N}/u.test(text);
      const isStop = stopWords.has(key) && !(numberWords.has(key) && !hasDigit);
      const isCapital = /^\p{Lu}/u.test(text);
      if (isStop || (text.length < 2 && !hasDigit)) {
        close();
        continue;
      }
      const term = this.term(key, hasDigit || numberWords.has(key) ? wordMark.number : wordMark.word);
      terms.add(term);
      if (isCapital && !isInitial) this.capitals[term] = this.capitals[term]! + 1;
      else if (!isCapital) this.lowers[term] = this.lowers[term]! + 1;
      if (!isCapital) close();
      else if (run) {
        run.to = at + text.length;
        run.terms.push(term);
      } else run = { from: at, to: at + text.length, terms: [term] };
    }
    close();
  }

  private term(key: string, mark: number): number {
    let id = this.ids.get(key);
    if (id === undefined) {
      id = this.uses.length;
      this.ids.set(key, id);
      this.uses.push(0);
      this.capitals.push(0);
      this.lowers.push(0);
      this.marks.push(mark);
    } else if (mark > this.marks[id]!) this.marks[id] = mark;
    return id;
  }

  get size(): number {
    return this.uses.length;
  }

  isName(term: number): boolean {
    return (
      this.marks[term] === wordMark.word &&
      this.capitals[term]! > 0 &&
      this.capitals[term]! >= this.lowers[term]!
    );
  }

  /** What it is worth to say this term, once everything has been added. */
  worth(term: number): number {
    const uses = this.uses[term]!;
    const often = 1 + 0.35 * Math.log(uses);
    const share = uses / this.sentences;
    if (this.marks[term] === wordMark.identifier) return 2.5 * often;
    if (this.marks[term] === wordMark.number) return 1.6 * often;
    if (this.isName(term)) return 2.2 * often;
    if (this.sentences > 50 && share > 0.05) return 0;
    return 0.35 * Math.min(often, 2);
  }

  /** The terms of a text that the conversation has. */
  known(text: string): Set<number> {
    const found = new Set<number>();
    for (const match of text.slice(0, 4_000).matchAll(wordRun)) {
      const { key } = keyOf(match[0]);
      const term = this.ids.get(key);
      if (term !== undefined && !stopWords.has(key)) found.add(term);
    }
    return found;
  }
}

function keyOf(raw: string): { readonly text: string; readonly key: string } {
  const text = raw.replace(/['’]s?$|[-_'’]+$/u, "");
  return { text, key: text.toLowerCase().replaceAll("’", "'") };
}
