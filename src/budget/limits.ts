import { type ModelTokens, modelTokens } from "../domain/token-units.js";

/** What decides how much a context may use. */
export type LimitBound = "window" | "input" | "knobs" | "asked";

/** What a context may use, before it is divided. */
export interface BudgetLimits {
  readonly modelLimit: ModelTokens;
  readonly reserveResponse: ModelTokens;
  readonly reserveTools: ModelTokens;
  readonly available: ModelTokens;
  readonly bound: LimitBound;
}

interface LimitInputs {
  readonly contextTokens: number;
  readonly inputTokens: number | undefined;
  /** Unset reserves are scaled down for small windows; those that were set are taken as they are. */
  readonly reserveResponse: number | undefined;
  readonly reserveTools: number | undefined;
  /** What the capsule's knobs allow; undefined for the whole window. */
  readonly knobTokens: number | undefined;
  /** `max_context_tokens` of request, session or capsule; undefined for no more than the rest. */
  readonly askedTokens: number | undefined;
}

const defaultReserveResponse = 8_192;
const defaultReserveTools = 16_384;

export function budgetLimits(inputs: LimitInputs): BudgetLimits {
  const modelLimit = inputs.contextTokens;
  const reserveResponse =
    inputs.reserveResponse ?? Math.min(defaultReserveResponse, Math.floor(modelLimit / 8));
  const reserveTools = inputs.reserveTools ?? Math.min(defaultReserveTools, Math.floor(modelLimit / 4));
  let available = Math.max(0, modelLimit - reserveResponse - reserveTools);
  let bound: LimitBound = "window";
  const lower = (by: LimitBound, tokens: number | undefined) => {
    if (tokens === undefined || tokens >= available) return;
    available = tokens;
    bound = by;
  };
  lower("input", inputs.inputTokens);
  lower("knobs", inputs.knobTokens);
  lower("asked", inputs.askedTokens);
  return {
    modelLimit: modelTokens(modelLimit),
    reserveResponse: modelTokens(reserveResponse),
    reserveTools: modelTokens(reserveTools),
    available: modelTokens(available),
    bound,
  };
}

export const laneNames = ["system", "history", "memory", "tools", "buffer"] as const;
export type LaneName = (typeof laneNames)[number];
/** Each lane's part of the whole, from 0 to 1. */
export type LaneShares = Readonly<Record<LaneName, number>>;
export type LanePlan = Readonly<Record<LaneName, ModelTokens>>;

/** Each lane's share in whole tokens, rounded down. */
export function planLanes(shares: LaneShares, available: ModelTokens): LanePlan {
  // A share like 0.15 is a little less than it says in binary: a hair is added before rounding down.
  const part = (share: number) => modelTokens(Math.floor(share * available + 1e-6));
  return {
    system: part(shares.system),
    history: part(shares.history),
    memory: part(shares.memory),
    tools: part(shares.tools),
    buffer: part(shares.buffer),
  };
}
