import { findModel } from "../budget/catalogue.js";
import { scaleOf, type TokenScale } from "../budget/token-scale.js";
import type { CountTokensResponse } from "../contract/gen/quire/v1/assembly_service.js";
import type { AssemblyDeps } from "./deps.js";

/** Counts texts as a model would: exactly where its vocabulary is public, else by its ratio, without the margin. */
export async function countTexts(
  deps: AssemblyDeps,
  texts: readonly string[],
  model: string,
  signal?: AbortSignal,
): Promise<CountTokensResponse> {
  const scale: TokenScale =
    model === ""
      ? { vocabulary: "o200k_base", exact: true, ratio: 1, margin: 0 }
      : scaleOf(findModel(deps.catalogue, model).entry);
  const counts = await deps.counter.countAll(texts, scale.vocabulary, signal);
  return {
    tokens: counts.map((count) => Math.ceil(count * scale.ratio)),
    exact: scale.exact,
    vocabulary: scale.vocabulary,
    ratio: scale.ratio,
    margin: scale.margin,
  };
}
