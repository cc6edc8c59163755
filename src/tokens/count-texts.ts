import type { CountedTokens } from "../domain/token-units.js";
import { countTokens } from "./count-tokens.js";
import type { Vocabulary } from "./vocabulary.js";

/** One count for each text, in their order. */
export function countTexts(input: {
  readonly texts: readonly string[];
  readonly vocabulary: Vocabulary;
}): CountedTokens[] {
  return input.texts.map((text) => countTokens(text, input.vocabulary));
}
