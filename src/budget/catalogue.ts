import { z } from "zod";

const modelEntry = z
  .object({
    provider: z.string().max(64).default(""),
    contextTokens: z.number().int().positive(),
    inputTokens: z.number().int().positive().optional(),
    outputTokens: z.number().int().positive(),
    /** The public vocabulary whose counts are exact for the model; null where there is none. */
    vocabulary: z.enum(["o200k_base"]).nullable(),
    /** What o200k counts are multiplied with, and how much of that may be wrong, where there is none. */
    ratio: z.number().positive().max(10).default(1),
    margin: z.number().min(0).max(1).default(0),
  })
  .strict();

const catalogueFile = z
  .object({ fallback: modelEntry.optional(), models: z.record(z.string(), modelEntry).default({}) })
  .strict();

export type ModelEntry = z.infer<typeof modelEntry>;

/** What is known of models: data, which an operator can extend. */
export interface Catalogue {
  readonly models: ReadonlyMap<string, ModelEntry>;
  readonly fallback: ModelEntry;
}

export function parseCatalogue(json: string): Catalogue {
  const { fallback, models } = catalogueFile.parse(JSON.parse(json));
  if (!fallback) throw new Error("the model catalogue has no fallback");
  return { models: new Map(Object.entries(models)), fallback };
}

/** The catalogue with an operator's own entries over it. */
export function extendCatalogue(base: Catalogue, json: string): Catalogue {
  const { fallback, models } = catalogueFile.parse(JSON.parse(json));
  return {
    models: new Map([...base.models, ...Object.entries(models)]),
    fallback: fallback ?? base.fallback,
  };
}

export interface FoundModel {
  readonly entry: ModelEntry;
  readonly name: string;
  readonly known: boolean;
}

/** A model by its name, with or without a date at its end. An unknown one gets the fallback. */
export function findModel(catalogue: Catalogue, model: string): FoundModel {
  const exact = catalogue.models.get(model);
  if (exact) return { entry: exact, name: model, known: true };
  const name = model.replace(/-\d{8}$/, "");
  const entry = catalogue.models.get(name);
  return { entry: entry ?? catalogue.fallback, name, known: entry !== undefined };
}
