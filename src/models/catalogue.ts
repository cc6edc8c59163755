import { z } from "zod";

/** How a provider's prompt cache works, as data. Prices are shares of the price of an input token. */
const cacheRules = z
  .object({
    /** "breakpoints" are set by the caller; "prefix" is found by the provider itself. */
    kind: z.enum(["breakpoints", "prefix", "none"]),
    /** A shorter prefix is not kept. */
    minTokens: z.number().int().min(0).default(0),
    /** How many marks a request may have. */
    maxBreakpoints: z.number().int().min(0).default(0),
    /** How many positions before a mark are looked at for what was kept earlier. */
    lookBack: z.number().int().min(0).default(0),
    /** A prefix is kept in steps of so many tokens. */
    stepTokens: z.number().int().min(1).default(1),
    ttlSeconds: z.number().int().min(0).default(0),
    /** A longer time that can be asked for, at its own price. */
    longTtlSeconds: z.number().int().min(0).optional(),
    writePrice: z.number().min(0).default(1),
    longWritePrice: z.number().min(0).optional(),
    readPrice: z.number().min(0).default(1),
  })
  .strict();

export type CacheRules = z.infer<typeof cacheRules>;

const modelEntry = z
  .object({
    provider: z.string().max(64).default(""),
    contextTokens: z.number().int().positive(),
    inputTokens: z.number().int().positive().optional(),
    outputTokens: z.number().int().positive(),
    /** The public vocabulary whose counts are exact for the model; null where there is none. */
    vocabulary: z.enum(["o200k_base", "cl100k_base"]).nullable(),
    /** What o200k counts are multiplied with, and how much of that may be wrong, where there is none. */
    ratio: z.number().positive().max(10).default(1),
    margin: z.number().min(0).max(1).default(0),
    cache: cacheRules.default({
      kind: "none",
      minTokens: 0,
      maxBreakpoints: 0,
      lookBack: 0,
      stepTokens: 1,
      ttlSeconds: 300,
      writePrice: 1,
      readPrice: 1,
    }),
    /** Whether the model takes a temperature; some refuse it. */
    takesTemperature: z.boolean().default(true),
    /** US dollars for a million input tokens, where an operator gives it. */
    inputPrice: z.number().min(0).optional(),
  })
  .strict();

/** Records leave this one key out without a word. */
const withoutProto = z.unknown().refine((models) => !Object.hasOwn(Object(models), "__proto__"), {
  error: "a model cannot be called __proto__",
});

const catalogueFile = z
  .object({
    fallback: modelEntry.optional(),
    models: withoutProto.pipe(z.record(z.string(), modelEntry).default({})),
  })
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

/** Dates as providers write them at the end of a name: -20240806, @20240806, -2024-08-06. */
const date = /(?:[-@]\d{8}|-\d{4}-\d{2}-\d{2})$/;
/** As in gpt-4-0613. Such digits may be anything else: they are a date only where a model is found without them. */
const monthAndDay = /-(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/;

/** A model by its name, with or without a date at its end. An unknown one gets the fallback. */
export function findModel(catalogue: Catalogue, model: string): FoundModel {
  const undated = model.replace(date, "");
  for (const name of [model, undated, model.replace(monthAndDay, "")]) {
    const entry = catalogue.models.get(name);
    if (entry) return { entry, name, known: true };
  }
  return { entry: catalogue.fallback, name: undated, known: false };
}
