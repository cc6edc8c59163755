import type { SourceRule } from "./source.js";

export const BudgetPolicy = {
  UNSPECIFIED: "BUDGET_POLICY_UNSPECIFIED",
  ELASTIC: "BUDGET_POLICY_ELASTIC",
  STRICT_TRUNCATE: "BUDGET_POLICY_STRICT_TRUNCATE",
  STRICT_FAIL: "BUDGET_POLICY_STRICT_FAIL",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type BudgetPolicy = (typeof BudgetPolicy)[keyof typeof BudgetPolicy];

export const PrefixPolicy = {
  UNSPECIFIED: "PREFIX_POLICY_UNSPECIFIED",
  STABLE: "PREFIX_POLICY_STABLE",
  LIVE: "PREFIX_POLICY_LIVE",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type PrefixPolicy = (typeof PrefixPolicy)[keyof typeof PrefixPolicy];

/** How history gives way when it no longer fits. */
export const CompressionStrategy = {
  UNSPECIFIED: "COMPRESSION_STRATEGY_UNSPECIFIED",
  SUMMARY: "COMPRESSION_STRATEGY_SUMMARY",
  TRUNCATE: "COMPRESSION_STRATEGY_TRUNCATE",
  IMPORTANCE: "COMPRESSION_STRATEGY_IMPORTANCE",
  TIME_DECAY: "COMPRESSION_STRATEGY_TIME_DECAY",
  WINDOW: "COMPRESSION_STRATEGY_WINDOW",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type CompressionStrategy = (typeof CompressionStrategy)[keyof typeof CompressionStrategy];

/** How a context is made, as one of server, capsule or request says it. */
export interface ContextSettings {
  readonly includeDescriptions?: boolean | undefined;
  readonly includeSchemas?: boolean | undefined;
  readonly activityLimit?: number | undefined;
  readonly compressionStrategy: CompressionStrategy;
  readonly maxMessages?: number | undefined;
  readonly keepTurns?: number | undefined;
  readonly policy: BudgetPolicy;
  readonly reserveResponseTokens?: number | undefined;
  readonly reserveToolTokens?: number | undefined;
  readonly modelLimits: readonly ModelLimits[];
  /** For every model, where its own do not say otherwise. */
  readonly defaultLimits: ModelLimits | undefined;
  /** Set and empty: nobody is asked. */
  readonly summarizers: { readonly names: readonly string[] } | undefined;
  readonly keepRecent?: number | undefined;
  readonly chunkTokens?: number | undefined;
  readonly summarizationModel?: string | undefined;
  readonly halfLifeTurns?: number | undefined;
  readonly summaryTokens?: number | undefined;
  readonly softThreshold?: number | undefined;
  readonly prefix: PrefixPolicy;
  readonly includeBlockSchemas?: boolean | undefined;
  readonly sources: readonly SourceRule[];
  readonly basePrompt?: boolean | undefined;
  readonly sovereignMode?: boolean | undefined;
  readonly maxSkillRounds?: number | undefined;
}

/** Limits for one model. */
export interface ModelLimits {
  readonly model: string;
  readonly maxTokens?: number | undefined;
  readonly memoryTokens?: number | undefined;
  readonly historyTokens?: number | undefined;
  readonly reserveResponseTokens?: number | undefined;
}
