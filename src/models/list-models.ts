import type { ModelInfo } from "../contract/gen/quire/v1/assembly_service.js";
import { readPageToken, writePageToken } from "../storage/page-token.js";
import { cacheKinds } from "./cache-kinds.js";
import type { CalibratedScale, Calibrator } from "./calibrator.js";
import { type Catalogue, type FoundModel, findModel } from "./catalogue.js";

export interface ListModels {
  readonly namePrefix: string;
  readonly pageSize: number;
  readonly pageToken: string;
}

export interface ModelPage {
  readonly models: readonly ModelInfo[];
  readonly nextPageToken: string;
}

const list = "models";

/** A page of models by name: those of the catalogue, and those besides that the tenant reported usage of. */
export async function listModels(
  { catalogue, calibrator }: { readonly catalogue: Catalogue; readonly calibrator: Calibrator },
  tenantId: string,
  { namePrefix, pageSize, pageToken }: ListModels,
): Promise<ModelPage> {
  const [after] = readPageToken(list, pageToken, [""]);
  const names = new Set([...catalogue.models.keys(), ...(await calibrator.modelsOf(tenantId))]);
  const left = [...names].filter((name) => name.startsWith(namePrefix) && name > after!).sort();
  const page = left.slice(0, pageSize);
  const models = await Promise.all(
    page.map(async (name) => {
      const model = findModel(catalogue, name);
      return modelInfo(model, await calibrator.scaleFor(tenantId, model));
    }),
  );
  return { models, nextPageToken: left.length > page.length ? writePageToken(list, [page.at(-1)!]) : "" };
}

function modelInfo({ name, entry }: FoundModel, scale: CalibratedScale): ModelInfo {
  const { exact, ratio, margin, evidence, version } = scale;
  const { provider, contextTokens, inputTokens, outputTokens, cache } = entry;
  return {
    name,
    provider,
    contextTokens,
    inputTokens: inputTokens !== undefined && inputTokens < contextTokens ? inputTokens : undefined,
    outputTokens,
    exact,
    ratio,
    margin,
    evidence,
    calibrationVersion: version,
    cacheKind: cacheKinds[cache.kind],
    cacheMinTokens: cache.minTokens,
    cacheTtlSeconds: cache.ttlSeconds,
    cacheReadPrice: cache.readPrice,
    cacheWritePrice: cache.writePrice,
  };
}
