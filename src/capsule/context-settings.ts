import { BudgetPolicy, type ContextSettings, type ModelLimits } from "../domain/context-settings.js";

/** Context settings with nothing left open. */
export interface ResolvedSettings {
  readonly includeDescriptions: boolean;
  readonly includeSchemas: boolean;
  readonly activityLimit: number;
  readonly compressionStrategy: string;
  /** undefined: no cap. */
  readonly maxMessages: number | undefined;
  readonly keepTurns: number;
  readonly policy: Exclude<BudgetPolicy, "BUDGET_POLICY_UNSPECIFIED" | "UNRECOGNIZED">;
  readonly reserveResponseTokens: number;
  readonly reserveToolTokens: number;
  /** Whether somebody set the reserve: defaults give way in small windows. */
  readonly isReserveSet: { readonly response: boolean; readonly tool: boolean };
  /** By model. */
  readonly modelLimits: ReadonlyMap<string, ModelLimits>;
}

type Layer = ContextSettings | undefined;

/** The later wins, field by field; what nobody sets has its default. */
export function mergeSettings(server: Layer, capsule: Layer, request: Layer): ResolvedSettings {
  const strongestFirst = [request, capsule, server];
  const first = <Key extends keyof ContextSettings>(key: Key): ContextSettings[Key] | undefined =>
    strongestFirst.find((layer) => layer?.[key] !== undefined)?.[key];
  const reserveResponseTokens = first("reserveResponseTokens");
  const reserveToolTokens = first("reserveToolTokens");
  return {
    includeDescriptions: first("includeDescriptions") ?? true,
    includeSchemas: first("includeSchemas") ?? true,
    activityLimit: first("activityLimit") ?? 10,
    compressionStrategy: first("compressionStrategy") ?? "window",
    maxMessages: first("maxMessages"),
    keepTurns: first("keepTurns") ?? 3,
    policy: strongestFirst.map((layer) => layer?.policy).find(isPolicy) ?? BudgetPolicy.ELASTIC,
    reserveResponseTokens: reserveResponseTokens ?? 8_192,
    reserveToolTokens: reserveToolTokens ?? 16_384,
    isReserveSet: { response: reserveResponseTokens !== undefined, tool: reserveToolTokens !== undefined },
    modelLimits: mergeLimits([server, capsule, request]),
  };
}

function isPolicy(policy: BudgetPolicy | undefined): policy is ResolvedSettings["policy"] {
  return policy !== undefined && policy !== BudgetPolicy.UNSPECIFIED && policy !== BudgetPolicy.UNRECOGNIZED;
}

function mergeLimits(weakestFirst: readonly Layer[]): ReadonlyMap<string, ModelLimits> {
  const merged = new Map<string, ModelLimits>();
  for (const limits of weakestFirst.flatMap((layer) => layer?.modelLimits ?? [])) {
    // Decoded messages hold undefined for what is not set, which must not push out what was.
    const set = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
    merged.set(limits.model, { ...merged.get(limits.model), ...set, model: limits.model });
  }
  return merged;
}
