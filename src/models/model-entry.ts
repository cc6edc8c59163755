import { z } from "zod";
import type { ImageRules } from "../tokens/media/image-rules.js";

const count = z.number().int().min(0);

/** How a provider's prompt cache works, as data. Prices are shares of the price of an input token. */
const givenCache = z.strictObject({
  /** "breakpoints" are set by the caller; "prefix" is found by the provider itself. */
  kind: z.enum(["breakpoints", "prefix", "none"]).optional(),
  /** A shorter prefix is not kept. */
  minTokens: count.optional(),
  /** How many marks a request may have. */
  maxBreakpoints: count.optional(),
  /** How many positions before a mark are looked at for what was kept earlier. */
  lookBack: count.optional(),
  /** A prefix is kept in steps of so many tokens. */
  stepTokens: z.number().int().min(1).optional(),
  ttlSeconds: count.optional(),
  /** A longer time that can be asked for, at its own price. */
  longTtlSeconds: count.optional(),
  writePrice: z.number().min(0).optional(),
  longWritePrice: z.number().min(0).optional(),
  readPrice: z.number().min(0).optional(),
});

const noCache = {
  kind: "none" as const,
  minTokens: 0,
  maxBreakpoints: 0,
  lookBack: 0,
  stepTokens: 1,
  ttlSeconds: 300,
  writePrice: 1,
  readPrice: 1,
};

const pixels = z.number().int().positive().max(100_000);
const tokens = z.number().int().min(0).max(1_000_000);

const imageRules: z.ZodType<ImageRules> = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("flat"), tokens }),
  z.strictObject({
    kind: z.literal("patches"),
    patchPixels: pixels,
    maxEdge: pixels.optional(),
    maxPatches: tokens.optional(),
    multiplier: z.number().positive().max(100).optional(),
    pixelsPerToken: z.number().positive().optional(),
    wholePatches: z.boolean().optional(),
  }),
  z.strictObject({
    kind: z.literal("tiles"),
    maxEdge: pixels,
    shortEdge: pixels,
    tilePixels: pixels,
    baseTokens: tokens,
    tileTokens: tokens,
  }),
  z.strictObject({
    kind: z.literal("crops"),
    smallEdge: pixels,
    minTile: pixels,
    maxTile: pixels,
    maxEdge: pixels,
    tileTokens: tokens,
  }),
]);

/** What a request can set that not every model takes. */
export const modelParameters = [
  "temperature",
  "max_tokens",
  "thinking_budget",
  "thinking_adaptive",
  "effort",
] as const;

/** What can be known of a model, or only assumed. */
export const modelFacts = ["window", "tokens", "cache", "parameters", "prices", "media"] as const;
export type ModelFact = (typeof modelFacts)[number];

/** US dollars for a million tokens. */
const price = z.number().min(0);

/** An entry as a file gives it: what it leaves out is its family's, or else the default. */
export const givenEntry = z.strictObject({
  provider: z.string().max(64).optional(),
  contextTokens: z.number().int().positive().optional(),
  inputTokens: z.number().int().positive().optional(),
  outputTokens: z.number().int().positive().optional(),
  /** The public vocabulary whose counts are exact for the model; null where there is none. */
  vocabulary: z.enum(["o200k_base", "cl100k_base", "o200k_pictures"]).nullable().optional(),
  /** What o200k counts are multiplied with, and how much of that may be wrong, where there is none. */
  ratio: z.number().positive().max(10).optional(),
  margin: z.number().min(0).max(1).optional(),
  cache: givenCache.optional(),
  parameters: z.array(z.enum(modelParameters)).optional(),
  image: imageRules.optional(),
  /** What a page of a PDF costs at most. */
  pdfPageTokens: tokens.optional(),
  inputPrice: price.optional(),
  outputPrice: price.optional(),
  /** What holds for requests with more input. */
  longPrices: z
    .strictObject({ aboveTokens: z.number().int().positive(), inputPrice: price, outputPrice: price })
    .optional(),
  /** What of all this nobody has verified. */
  assumed: z.array(z.enum(modelFacts)).optional(),
});

export type GivenEntry = z.infer<typeof givenEntry>;
type GivenCache = z.infer<typeof givenCache>;
export type CacheRules = {
  readonly [Key in keyof typeof noCache]: NonNullable<GivenCache[Key]>;
} & Pick<GivenCache, "longTtlSeconds" | "longWritePrice">;

const defaults = {
  provider: "",
  ratio: 1,
  margin: 0,
  parameters: modelParameters as readonly (typeof modelParameters)[number][],
  assumed: [] as readonly ModelFact[],
};

/** What is known of a model. */
export type ModelEntry = Omit<GivenEntry, keyof typeof defaults | Needed | "cache"> &
  Readonly<typeof defaults> & { readonly [Key in Needed]: Exclude<GivenEntry[Key], undefined> } & {
    readonly cache: CacheRules;
  };

type Needed = "contextTokens" | "outputTokens" | "vocabulary";
const needed = z.looseObject({
  contextTokens: z.number(),
  outputTokens: z.number(),
  vocabulary: z.string().nullable(),
});

/** What an entry says itself, then its family. A cache of another kind has nothing of the family's. */
export function entryOver(family: ModelEntry | undefined, given: GivenEntry): ModelEntry {
  const ofFamily = { ...defaults, ...family, assumed: [] };
  const isSameCache = given.cache?.kind === undefined || given.cache.kind === family?.cache.kind;
  const cache = { ...noCache, ...(isSameCache ? family?.cache : {}), ...given.cache };
  const entry = { ...ofFamily, ...given, cache };
  needed.parse(entry);
  return entry as ModelEntry;
}
