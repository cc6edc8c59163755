import type { ModelInfo } from "../contract/gen/quire/v1/assembly_service.js";
import { readPageToken, writePageToken } from "../storage/page-token.js";
import { imageTokens } from "../tokens/media/image-tokens.js";
import { cacheKinds } from "./cache-kinds.js";
import type { CalibratedScale, Calibrator } from "./calibrator.js";
import { type Catalogue, type FoundModel, findModel } from "./catalogue.js";
import { modelFacts } from "./model-entry.js";
import { wireFacts, wireParameters } from "./model-words.js";
import { scaleOf } from "./token-scale.js";

export interface ListModels {
  readonly namePrefix: string;
  readonly pageSize: number;
  readonly pageToken: string;
  readonly withFamilies: boolean;
}

export interface ModelPage {
  readonly models: readonly ModelInfo[];
  readonly nextPageToken: string;
}

const list = "models";
/** The picture whose cost stands for those of others. */
const usualImage = { width: 1_024, height: 1_024 };

/** A page of models by name: those of the catalogue, and those besides that the tenant reported usage of. */
export async function listModels(
  { catalogue, calibrator }: { readonly catalogue: Catalogue; readonly calibrator: Calibrator },
  tenantId: string,
  { namePrefix, pageSize, pageToken, withFamilies }: ListModels,
): Promise<ModelPage> {
  const [after] = readPageToken(list, pageToken, [""]);
  const families = new Map(withFamilies ? catalogue.families.map((family) => [family.name, family]) : []);
  const names = new Set([
    ...catalogue.models.keys(),
    ...families.keys(),
    ...(await calibrator.modelsOf(tenantId)),
  ]);
  const left = [...names].filter((name) => name.startsWith(namePrefix) && name > after!).sort();
  const page = left.slice(0, pageSize);
  const models = await Promise.all(
    page.map(async (name) => {
      const family = families.get(name);
      if (family) {
        const { entry } = family;
        const model = { entry, name, known: true, family: name, assumed: modelFacts };
        return modelInfo(model, { ...scaleOf(entry), version: 0, evidence: 0 }, true);
      }
      const model = findModel(catalogue, name);
      return modelInfo(model, await calibrator.scaleFor(tenantId, model), false);
    }),
  );
  return { models, nextPageToken: left.length > page.length ? writePageToken(list, [page.at(-1)!]) : "" };
}

function modelInfo(
  { name, entry, assumed }: FoundModel,
  scale: CalibratedScale,
  isFamily: boolean,
): ModelInfo {
  const { exact, ratio, margin, evidence, version } = scale;
  const { provider, contextTokens, inputTokens, outputTokens, cache, inputPrice, outputPrice } = entry;
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
    inputPrice,
    outputPrice,
    parameters: wireParameters(entry.parameters),
    assumed: wireFacts(assumed),
    isFamily,
    imageTokens: entry.image ? imageTokens(entry.image, usualImage) : 0,
    pdfPageTokens: entry.pdfPageTokens ?? 0,
  };
}
