import { type FoundModel, findModel } from "../budget/catalogue.js";
import type { ModelInfo } from "../contract/gen/quire/v1/assembly_service.js";
import type { CalibratedScale } from "./calibrator.js";
import type { AssemblyDeps } from "./deps.js";

/** The models of the catalogue by name, and those besides that the tenant reported usage of. */
export async function listModels(
  { catalogue, calibrator }: Pick<AssemblyDeps, "catalogue" | "calibrator">,
  tenantId: string,
  namePrefix: string,
): Promise<ModelInfo[]> {
  const names = new Set([...catalogue.models.keys(), ...(await calibrator.modelsOf(tenantId))]);
  const listed = [...names].filter((name) => name.startsWith(namePrefix)).sort();
  return Promise.all(
    listed.map(async (name) => {
      const model = findModel(catalogue, name);
      return modelInfo(model, await calibrator.scaleFor(tenantId, model));
    }),
  );
}

function modelInfo({ name, entry }: FoundModel, scale: CalibratedScale): ModelInfo {
  const { exact, ratio, margin, evidence, version } = scale;
  const { provider, contextTokens, inputTokens, outputTokens, cache } = entry;
  return {
    name,
    provider,
    contextTokens,
    inputTokens: inputTokens !== undefined && inputTokens < contextTokens ? inputTokens : 0,
    outputTokens,
    exact,
    ratio,
    margin,
    evidence,
    calibrationVersion: version,
    cacheKind: cache.kind,
    cacheMinTokens: cache.minTokens,
    cacheTtlSeconds: cache.ttlSeconds,
    cacheReadPrice: cache.readPrice,
    cacheWritePrice: cache.writePrice,
  };
}
