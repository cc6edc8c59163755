import type { ModelEntry } from "./catalogue.js";

/** How o200k counts become a model's tokens. */
export interface TokenScale {
  readonly exact: boolean;
  readonly ratio: number;
  readonly margin: number;
}

export function scaleOf(entry: ModelEntry): TokenScale {
  if (entry.vocabulary) return { exact: true, ratio: 1, margin: 0 };
  return { exact: false, ratio: entry.ratio, margin: entry.margin };
}

/** What to reckon with: the estimate and its margin, so that a context is not over what the model takes. */
export function scaled(scale: TokenScale, o200kTokens: number): number {
  return scale.exact ? o200kTokens : Math.ceil(o200kTokens * scale.ratio * (1 + scale.margin));
}

/** The o200k tokens that fit into so many of the model's. */
export function unscaled(scale: TokenScale, tokens: number): number {
  if (scale.exact) return tokens;
  const fitting = Math.floor(tokens / (scale.ratio * (1 + scale.margin)));
  // A quotient that was rounded up to a whole number is one too many.
  return scaled(scale, fitting) > tokens ? fitting - 1 : fitting;
}

/** What a message costs beside its text: roles and separators. */
export const messageOverheadTokens = 4;
