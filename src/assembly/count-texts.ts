import { findModel } from "../budget/catalogue.js";
import { scaleOf } from "../budget/token-scale.js";
import type { CountTokensResponse } from "../contract/gen/quire/v1/assembly_service.js";
import type { AssemblyDeps } from "./deps.js";

/** Counts texts as a model would: exactly where its vocabulary is public, else by its ratio, without the margin. */
export async function countTexts(
  deps: AssemblyDeps,
  texts: readonly string[],
  model: string,
  signal?: AbortSignal,
): Promise<CountTokensResponse> {
  const scale =
    model === "" ? { exact: true, ratio: 1, margin: 0 } : scaleOf(findModel(deps.catalogue, model).entry);
  const counts = await deps.counter.countAll(texts, "o200k_base", signal);
  return {
    tokens: counts.map((count) => Math.ceil(count * scale.ratio)),
    exact: scale.exact,
    vocabulary: "o200k_base",
    ratio: scale.ratio,
    margin: scale.margin,
  };
}
