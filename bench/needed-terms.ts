import type { Conversation } from "./locomo.js";

/**
 * What questions need of a conversation. Told by rules of its own, which share nothing with the summarizer, so that
 * neither is fitted to the other: numbers, and words with a capital that do not only have it as a sentence's first.
 */
export interface Needed {
  /** Names and numbers of the evidence of questions, each once. */
  readonly evidence: ReadonlySet<string>;
  /** For each question, the names and numbers of its answer that its evidence says. */
  readonly answers: readonly (readonly string[])[];
  /** For each question, all words of its answer, of four letters and more, that its evidence says. */
  readonly answerWords: readonly (readonly string[])[];
}

const cardinals = new Set(
  "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty hundred".split(
    " ",
  ),
);

export function neededTerms(
  { questions, sessions, speakers }: Conversation,
  inRange: ReadonlySet<string>,
): Needed {
  const spoken = sessions.flat();
  const isName = namesOf(spoken.flatMap(({ text }) => tokensOf(text)));
  const texts = new Map(spoken.map(({ id, text }) => [id, text]));
  const names = new Set(speakers.map((name) => name.toLowerCase()));
  const termsOf = (text: string) =>
    tokensOf(text)
      .filter((token) => isNumber(token.text) || (isCapital(token.text) && isName(bareToken(token))))
      .map(bareToken)
      .filter((term) => !names.has(term));
  const evidence = new Set<string>();
  const answers: string[][] = [];
  const answerWords: string[][] = [];
  for (const question of questions) {
    const ids = question.evidence.filter((id) => inRange.has(id));
    if (ids.length === 0) continue;
    const said = ids.map((id) => texts.get(id)!).join("\n");
    for (const term of termsOf(said)) evidence.add(term);
    const words = new Set(tokensOf(said).map(bareToken));
    answers.push([...new Set(termsOf(question.answer))].filter((term) => words.has(term)));
    const longWords = tokensOf(question.answer)
      .map(bareToken)
      .filter((word) => word.length >= 4 && words.has(word) && !names.has(word));
    answerWords.push([...new Set(longWords)]);
  }
  return { evidence, answers, answerWords };
}

export function wordsIn(text: string): Set<string> {
  return new Set(tokensOf(text).map(bareToken));
}

/** A name is more often written with a capital inside a sentence than without one. */
function namesOf(tokens: readonly Token[]): (word: string) => boolean {
  const balance = new Map<string, number>();
  for (const token of tokens) {
    const vote = isCapital(token.text) ? (token.isFirst ? 0 : 1) : -1;
    const word = bareToken(token);
    balance.set(word, (balance.get(word) ?? 0) + vote);
  }
  return (word) => (balance.get(word) ?? 0) > 0 && !/^i(?:'|$)/u.test(word);
}

interface Token {
  readonly text: string;
  readonly isFirst: boolean;
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let isFirst = true;
  for (const raw of text.split(/[\s/—–…]+/u)) {
    const inner = raw.replace(/^[^\p{L}\p{N}$]+|[^\p{L}\p{N}%]+$/gu, "");
    if (inner !== "") tokens.push({ text: inner, isFirst: isFirst || /^["“([]/u.test(raw) });
    if (raw !== "") isFirst = /[.!?:]["”)\]]*$/u.test(raw) || inner === "";
  }
  return tokens;
}

function bareToken({ text }: Token): string {
  return text.toLowerCase().replaceAll("’", "'").replace(/'s$/u, "");
}

function isCapital(text: string): boolean {
  return /^\p{Lu}/u.test(text);
}

function isNumber(text: string): boolean {
  return cardinals.has(text.toLowerCase()) || /^[$€£]?\d[\d.,:]*(?:st|nd|rd|th|s|k|am|pm|%)?$/iu.test(text);
}
