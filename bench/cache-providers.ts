import { BodyFormat } from "../src/contract/gen/quire/v1/rendering.js";
import type { PromptFormat } from "./cache-body.js";
import { MarkedCache, PrefixCache, type ProviderCache } from "./cache-provider.js";

/** A model, and how its provider's cache works: written down apart from the catalogue, which is what is tested. */
export interface SimulatedModel {
  readonly name: string;
  readonly format: PromptFormat;
  readonly bodyFormat: BodyFormat;
  /** The provider's tokens for one that is counted. */
  readonly ratio: number;
  readonly readPrice: number;
  readonly writePrice: number;
  cache(): ProviderCache;
}

const ttlMs = 300_000;

export const claude: SimulatedModel = {
  name: "claude-sonnet-5-5",
  format: "anthropic",
  bodyFormat: BodyFormat.ANTHROPIC_MESSAGES,
  ratio: 1.625,
  readPrice: 0.1,
  writePrice: 1.25,
  cache: () => new MarkedCache({ minTokens: 1_024, maxMarkers: 4, lookBack: 20, ttlMs }),
};

export const gpt: SimulatedModel = {
  name: "gpt-4o",
  format: "openai-responses",
  bodyFormat: BodyFormat.OPENAI_RESPONSES,
  ratio: 1,
  readPrice: 0.5,
  writePrice: 1,
  cache: () => new PrefixCache({ minTokens: 1_024, stepTokens: 128, ttlMs, ratio: 1 }),
};

export const gemini: SimulatedModel = {
  name: "gemini-3.8-flash",
  format: "gemini",
  bodyFormat: BodyFormat.GEMINI,
  ratio: 1.1,
  readPrice: 0.1,
  writePrice: 1,
  cache: () => new PrefixCache({ minTokens: 4_096, stepTokens: 1, ttlMs, ratio: 1.1 }),
};
