import type { CountTokensResponse } from "../contract/gen/quire/v1/assembly_service.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { textVocabulary } from "../tokens/vocabulary.js";
import type { Calibrator } from "./calibrator.js";
import { type Catalogue, findModel } from "./catalogue.js";
import type { TokenScale } from "./token-scale.js";

export interface CountDeps {
  readonly catalogue: Catalogue;
  readonly calibrator: Calibrator;
  readonly counter: TokenCounter;
}

/** Counts texts as a model would: exactly where its vocabulary is public, else by the ratio that budgets use, without the margin. */
export async function countTexts(
  { catalogue, calibrator, counter }: CountDeps,
  tenantId: string,
  texts: readonly string[],
  model: string,
  signal?: AbortSignal,
): Promise<CountTokensResponse> {
  const scale: TokenScale =
    model === ""
      ? { vocabulary: "o200k_base", exact: true, ratio: 1, margin: 0 }
      : await calibrator.scaleFor(tenantId, findModel(catalogue, model));
  const counts = await counter.countAll(texts, scale.vocabulary, signal);
  return {
    tokens: counts.map((count) => Math.ceil(count * scale.ratio)),
    exact: scale.exact,
    vocabulary: textVocabulary(scale.vocabulary),
    ratio: scale.ratio,
    margin: scale.margin,
  };
}
