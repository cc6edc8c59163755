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

/** How a context is made, as one of server, capsule or request says it. */
export interface ContextSettings {
  readonly includeDescriptions?: boolean | undefined;
  readonly includeSchemas?: boolean | undefined;
  readonly activityLimit?: number | undefined;
  readonly compressionStrategy?: string | undefined;
  readonly maxMessages?: number | undefined;
  readonly keepTurns?: number | undefined;
  readonly policy: BudgetPolicy;
  readonly reserveResponseTokens?: number | undefined;
  readonly reserveToolTokens?: number | undefined;
  readonly modelLimits: readonly ModelLimits[];
  readonly summarizers: readonly string[];
  readonly keepRecent?: number | undefined;
  readonly chunkTokens?: number | undefined;
  readonly summarizationModel?: string | undefined;
  readonly halfLifeTurns?: number | undefined;
  readonly summaryTokens?: number | undefined;
  readonly softThreshold?: number | undefined;
  readonly prefix: PrefixPolicy;
}

/** How history gives way when it no longer fits. */
export const compressionStrategies = ["summary", "truncate", "importance", "time_decay", "window"] as const;
export type CompressionStrategy = (typeof compressionStrategies)[number];

/** Limits for one model. */
export interface ModelLimits {
  readonly model: string;
  readonly maxTokens?: number | undefined;
  readonly memoryTokens?: number | undefined;
  readonly historyTokens?: number | undefined;
  readonly reserveResponseTokens?: number | undefined;
}
