export const CompactionTrigger = {
  UNSPECIFIED: "COMPACTION_TRIGGER_UNSPECIFIED",
  CONTEXT_LIMIT: "COMPACTION_TRIGGER_CONTEXT_LIMIT",
  OVERFLOW_RECOVERY: "COMPACTION_TRIGGER_OVERFLOW_RECOVERY",
  MANUAL: "COMPACTION_TRIGGER_MANUAL",
  TOOL_LOOP: "COMPACTION_TRIGGER_TOOL_LOOP",
  BACKGROUND: "COMPACTION_TRIGGER_BACKGROUND",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type CompactionTrigger = (typeof CompactionTrigger)[keyof typeof CompactionTrigger];

/** Why a summarizer's work was not used. */
export interface SummarizerFailure {
  readonly summarizer: string;
  readonly reason: string;
}

/** A summary of older turns, and where the kept part of the thread starts. */
export interface CompactionTurn {
  readonly id: string;
  readonly sessionId: string;
  readonly anchorTurnId: string;
  readonly depth: number;
  readonly summary: string;
  readonly lastSummarizedTurnId: string;
  readonly firstKeptTurnId: string;
  readonly firstKeptMessageIndex: number;
  readonly summarizedTurns: number;
  readonly previousCompactionId: string;
  readonly strategy: string;
  readonly parameters: { [key: string]: string };
  readonly summarizer: string;
  readonly provider: string;
  readonly model: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly summaryTokens: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly durationMs: number;
  readonly trigger: CompactionTrigger;
  readonly instructions: string;
  readonly floors: readonly string[];
  readonly failures: readonly SummarizerFailure[];
  readonly createTime: Date | undefined;
  readonly applyTime: Date | undefined;
}
