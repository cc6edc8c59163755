import { ModelParameter, ModelFact as WireFact } from "../contract/gen/quire/v1/model.js";
import type { ModelEntry, ModelFact } from "./model-entry.js";

const facts = {
  window: WireFact.WINDOW,
  tokens: WireFact.TOKENS,
  cache: WireFact.CACHE,
  parameters: WireFact.PARAMETERS,
  prices: WireFact.PRICES,
  media: WireFact.MEDIA,
} as const;

const parameters = {
  temperature: ModelParameter.TEMPERATURE,
  max_tokens: ModelParameter.MAX_TOKENS,
  thinking_budget: ModelParameter.THINKING_BUDGET,
  thinking_adaptive: ModelParameter.THINKING_ADAPTIVE,
  effort: ModelParameter.EFFORT,
} as const;

/** The catalogue's words, as the contract has them. */
export function wireFacts(of: readonly ModelFact[]): WireFact[] {
  return of.map((fact) => facts[fact]);
}

export function wireParameters(of: ModelEntry["parameters"]): ModelParameter[] {
  return of.map((parameter) => parameters[parameter]);
}
