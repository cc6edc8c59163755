import { type ModelTokens, modelTokens } from "../domain/token-units.js";
import { conservativeTokens } from "../tokens/media/conservative-tokens.js";
import { imageTokens } from "../tokens/media/image-tokens.js";
import type { Media } from "../tokens/media/media.js";
import type { ModelEntry } from "./catalogue.js";

/** What a model makes of an image or a file, by its provider's rules; where it has none, the figure for all models. */
export function mediaTokens(
  { image, pdfPageTokens }: Pick<ModelEntry, "image" | "pdfPageTokens">,
  media: Exclude<Media, { readonly kind: "text" }>,
): ModelTokens {
  if (media.kind === "image" && image) return modelTokens(imageTokens(image, media.size));
  if (media.kind === "pages" && pdfPageTokens) return modelTokens(media.pages * pdfPageTokens);
  return modelTokens(conservativeTokens(media));
}
