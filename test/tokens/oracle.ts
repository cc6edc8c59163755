import { Tiktoken } from "js-tiktoken/lite";
import cl100k from "js-tiktoken/ranks/cl100k_base";
import o200k from "js-tiktoken/ranks/o200k_base";
import type { TextVocabulary } from "../../src/tokens/vocabulary.js";

export const vocabularies: readonly TextVocabulary[] = ["o200k_base", "cl100k_base"];

export const ranks = { o200k_base: o200k, cl100k_base: cl100k } as const;

const encoders = { o200k_base: new Tiktoken(o200k), cl100k_base: new Tiktoken(cl100k) } as const;

/** How many tokens js-tiktoken finds, with special tokens as ordinary text. Quadratic in the longest piece. */
export function oracleCount(text: string, vocabulary: TextVocabulary): number {
  return encoders[vocabulary].encode(text, [], []).length;
}

/** The tokens of a vocabulary in the order of their ranks. */
export function tokensOf(vocabulary: TextVocabulary): Buffer[] {
  const [, , ...tokens] = ranks[vocabulary].bpe_ranks.split(" ");
  return tokens.map((token) => Buffer.from(token, "base64"));
}
