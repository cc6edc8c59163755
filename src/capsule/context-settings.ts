import {
  BudgetPolicy,
  CompressionStrategy,
  type ContextSettings,
  type ModelLimits,
  PrefixPolicy,
} from "../domain/context-settings.js";
import { SourceFormat, SourcePosition, type SourceRule } from "../domain/source.js";

/** Context settings with nothing left open. */
export interface ResolvedSettings {
  readonly includeDescriptions: boolean;
  readonly includeSchemas: boolean;
  readonly includeBlockSchemas: boolean;
  readonly activityLimit: number;
  readonly compaction: CompactionSettings;
  /** Whether the system prompt is made anew each time. */
  readonly isPrefixLive: boolean;
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
  readonly defaultLimits: ModelLimits;
  /** By the names of sources. */
  readonly sources: ReadonlyMap<string, SourceRule>;
  /** Whether the shipped instructions are part of the system prompt. */
  readonly hasBasePrompt: boolean;
  /** The rounds that sovereign mode names; undefined where it is off. */
  readonly sovereignRounds: number | undefined;
}

type SetStrategy = Exclude<CompressionStrategy, "COMPRESSION_STRATEGY_UNSPECIFIED" | "UNRECOGNIZED">;

/** How history gives way, with nothing left open. */
export interface CompactionSettings {
  readonly strategy: SetStrategy;
  readonly summarizers: readonly string[];
  /** undefined: as many turns as fit. */
  readonly keepRecent: number | undefined;
  /** undefined: what the summarizer's window takes. */
  readonly chunkTokens: number | undefined;
  /** Empty: the configured one. */
  readonly summarizationModel: string;
  readonly halfLifeTurns: number;
  /** undefined: a share of what history is compacted to. */
  readonly summaryTokens: number | undefined;
  readonly softThreshold: number;
}

type Layer = ContextSettings | undefined;

/** The later wins, field by field; what nobody sets has its default. */
export function mergeSettings(server: Layer, capsule: Layer, request: Layer): ResolvedSettings {
  const strongestFirst = [request, capsule, server].filter((layer) => layer !== undefined);
  const first = <Key extends keyof ContextSettings>(key: Key): ContextSettings[Key] | undefined =>
    strongestFirst.find((layer) => layer[key] !== undefined)?.[key];
  const reserveResponseTokens = first("reserveResponseTokens");
  const reserveToolTokens = first("reserveToolTokens");
  return {
    includeDescriptions: first("includeDescriptions") ?? true,
    includeSchemas: first("includeSchemas") ?? true,
    includeBlockSchemas: first("includeBlockSchemas") ?? false,
    activityLimit: first("activityLimit") ?? 10,
    compaction: {
      strategy:
        strongestFirst.map((layer) => layer.compressionStrategy).find(isStrategy) ??
        CompressionStrategy.SUMMARY,
      summarizers: first("summarizers")?.names ?? ["extractive"],
      keepRecent: first("keepRecent"),
      chunkTokens: first("chunkTokens"),
      summarizationModel: first("summarizationModel") ?? "",
      halfLifeTurns: first("halfLifeTurns") ?? 16,
      summaryTokens: first("summaryTokens"),
      softThreshold: first("softThreshold") ?? 0.85,
    },
    isPrefixLive: strongestFirst.map((layer) => layer.prefix).find(isPrefixPolicy) === PrefixPolicy.LIVE,
    maxMessages: first("maxMessages"),
    keepTurns: first("keepTurns") ?? 3,
    policy: strongestFirst.map((layer) => layer.policy).find(isPolicy) ?? BudgetPolicy.ELASTIC,
    reserveResponseTokens: reserveResponseTokens ?? 8_192,
    reserveToolTokens: reserveToolTokens ?? 16_384,
    isReserveSet: { response: reserveResponseTokens !== undefined, tool: reserveToolTokens !== undefined },
    modelLimits: mergeLimits([server, capsule, request].flatMap((layer) => layer?.modelLimits ?? [])),
    defaultLimits: mergeLimits([server, capsule, request].flatMap((layer) => layer?.defaultLimits ?? [])).get(
      "",
    ) ?? { model: "" },
    hasBasePrompt: first("basePrompt") ?? false,
    sovereignRounds: first("sovereignMode") ? (first("maxSkillRounds") ?? 12) : undefined,
    sources: mergeRules([server, capsule, request].flatMap((layer) => layer?.sources ?? [])),
  };
}

function isPolicy(policy: BudgetPolicy | undefined): policy is ResolvedSettings["policy"] {
  return policy !== undefined && policy !== BudgetPolicy.UNSPECIFIED && policy !== BudgetPolicy.UNRECOGNIZED;
}

export function isStrategy(strategy: CompressionStrategy | undefined): strategy is SetStrategy {
  return (
    strategy !== undefined &&
    strategy !== CompressionStrategy.UNSPECIFIED &&
    strategy !== CompressionStrategy.UNRECOGNIZED
  );
}

function isPrefixPolicy(policy: PrefixPolicy | undefined): boolean {
  return policy === PrefixPolicy.STABLE || policy === PrefixPolicy.LIVE;
}

function mergeLimits(weakestFirst: readonly ModelLimits[]): ReadonlyMap<string, ModelLimits> {
  const merged = new Map<string, ModelLimits>();
  for (const limits of weakestFirst) {
    const all: { -readonly [Key in keyof ModelLimits]: ModelLimits[Key] } = {
      ...merged.get(limits.model),
      model: limits.model,
    };
    // Decoded messages hold undefined for what is not set, which must not push out what was.
    for (const name of limitNames) if (limits[name] !== undefined) all[name] = limits[name];
    merged.set(limits.model, all);
  }
  return merged;
}

const noRules: ReadonlyMap<string, SourceRule> = new Map();

function mergeRules(weakestFirst: readonly SourceRule[]): ReadonlyMap<string, SourceRule> {
  if (weakestFirst.length === 0) return noRules;
  const merged = new Map<string, SourceRule>();
  for (const rule of weakestFirst) {
    const before = merged.get(rule.name);
    merged.set(rule.name, before ? laterRule(before, rule) : rule);
  }
  return merged;
}

/** What a later rule says, and what an earlier one said where it says nothing. */
function laterRule(before: SourceRule, rule: SourceRule): SourceRule {
  const said = Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== undefined));
  const isPlaced = rule.position !== SourcePosition.UNSPECIFIED;
  const names = new Set(rule.thresholds.map(({ name }) => name));
  return {
    ...before,
    ...said,
    name: rule.name,
    roles: rule.roles.length > 0 ? rule.roles : before.roles,
    position: isPlaced ? rule.position : before.position,
    format: rule.format !== SourceFormat.UNSPECIFIED ? rule.format : before.format,
    thresholds: [...before.thresholds.filter(({ name }) => !names.has(name)), ...rule.thresholds],
  };
}

const limitNames = ["maxTokens", "memoryTokens", "historyTokens", "reserveResponseTokens"] as const;
