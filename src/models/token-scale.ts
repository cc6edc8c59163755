import { type CountedTokens, countedTokens, type ModelTokens, modelTokens } from "../domain/token-units.js";
import type { ModelEntry } from "./catalogue.js";

/** The vocabularies that text is counted with. */
export type CountedVocabulary = NonNullable<ModelEntry["vocabulary"]>;

/** How counts become a model's tokens. */
export interface TokenScale {
  /** The model's own where it is exact. */
  readonly vocabulary: CountedVocabulary;
  readonly exact: boolean;
  readonly ratio: number;
  readonly margin: number;
}

export function scaleOf(entry: ModelEntry): TokenScale {
  if (entry.vocabulary) return { vocabulary: entry.vocabulary, exact: true, ratio: 1, margin: 0 };
  return { vocabulary: "o200k_base", exact: false, ratio: entry.ratio, margin: entry.margin };
}

/** What to reckon with: the estimate and its margin, so that a context is not over what the model takes. */
export function scaled(scale: Omit<TokenScale, "vocabulary">, counted: CountedTokens): ModelTokens {
  return modelTokens(scale.exact ? counted : Math.ceil(counted * scale.ratio * (1 + scale.margin)));
}

/** The counted tokens that fit into so many of the model's. */
export function unscaled(scale: Omit<TokenScale, "vocabulary">, tokens: ModelTokens): CountedTokens {
  if (scale.exact) return countedTokens(tokens);
  const fitting = countedTokens(Math.floor(tokens / (scale.ratio * (1 + scale.margin))));
  // A quotient that was rounded up to a whole number is one too many.
  return scaled(scale, fitting) > tokens ? countedTokens(fitting - 1) : fitting;
}
