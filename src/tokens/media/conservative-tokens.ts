import { type CountedTokens, countedTokens } from "../../domain/token-units.js";
import type { Vocabulary } from "../vocabulary.js";
import type { ImageRules } from "./image-rules.js";
import { imageTokens } from "./image-tokens.js";
import type { Media } from "./media.js";

/**
 * The rules of the models that make most of a picture. Their largest figure is what is stored with a message, whatever model reads it
 * later. gpt-4o-mini is not among them: it bills a picture at 33 times what others do, so messages are counted for it by a vocabulary
 * of its own.
 */
const dearest: readonly ImageRules[] = [
  { kind: "flat", tokens: 1_120 },
  { kind: "patches", patchPixels: 28, pixelsPerToken: 750, maxEdge: 2_576, maxPatches: 4_784 },
  { kind: "patches", patchPixels: 32, multiplier: 1.2, maxPatches: 20_000, wholePatches: true },
  { kind: "patches", patchPixels: 32, multiplier: 2.46, maxPatches: 1_536, wholePatches: true },
  { kind: "tiles", maxEdge: 2_048, shortEdge: 768, tilePixels: 512, baseTokens: 85, tileTokens: 170 },
  { kind: "crops", smallEdge: 384, minTile: 256, maxTile: 768, maxEdge: 3_072, tileTokens: 258 },
];

/** Those of gpt-4o-mini. */
const farDearer: ImageRules = {
  kind: "tiles",
  maxEdge: 2_048,
  shortEdge: 768,
  tilePixels: 512,
  baseTokens: 2_833,
  tileTokens: 5_667,
};

/** A page of a PDF: its text, and the picture of it that models are shown besides. */
export const pageTokens = 4_568;
const mostPages = 1_000;

/** One figure for all models of a vocabulary, never less than what they make of it. Text is counted as text. */
export function conservativeTokens(
  media: Exclude<Media, { readonly kind: "text" }>,
  vocabulary: Vocabulary = "o200k_base",
): CountedTokens {
  if (media.kind === "pages") return countedTokens(Math.min(media.pages, mostPages) * pageTokens);
  const rules = vocabulary === "o200k_pictures" ? [...dearest, farDearer] : dearest;
  return countedTokens(Math.max(...rules.map((each) => imageTokens(each, media.size))));
}
