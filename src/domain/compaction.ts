import type { CompressionStrategy } from "./context-settings.js";

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

export const FloorKind = {
  UNSPECIFIED: "FLOOR_KIND_UNSPECIFIED",
  MEMORY_GAVE_WAY: "FLOOR_KIND_MEMORY_GAVE_WAY",
  OVER_TARGET: "FLOOR_KIND_OVER_TARGET",
  KEEP_TURNS: "FLOOR_KIND_KEEP_TURNS",
  SPLIT_TURN: "FLOOR_KIND_SPLIT_TURN",
  ELIDED_RESULTS: "FLOOR_KIND_ELIDED_RESULTS",
  SUMMARY_LEFT_OUT: "FLOOR_KIND_SUMMARY_LEFT_OUT",
  NO_TURN_FITS: "FLOOR_KIND_NO_TURN_FITS",
  ELIDED_ARGUMENTS: "FLOOR_KIND_ELIDED_ARGUMENTS",
  ELIDED_TEXTS: "FLOOR_KIND_ELIDED_TEXTS",
  ELIDED_CALLS: "FLOOR_KIND_ELIDED_CALLS",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type FloorKind = (typeof FloorKind)[keyof typeof FloorKind];

/** A step in which what is otherwise never cut gave way. */
export interface Floor {
  readonly kind: FloorKind;
  readonly value?: number | undefined;
}

/** A floor in a sentence. */
export function floorText({ kind, value = 0 }: Floor): string {
  return floorTexts[kind].replace("{value}", String(value));
}

const floorTexts: Readonly<Record<FloorKind, string>> = {
  FLOOR_KIND_UNSPECIFIED: "something gave way",
  FLOOR_KIND_MEMORY_GAVE_WAY: "memory gave way",
  FLOOR_KIND_OVER_TARGET: "over target: the last turns are kept whole",
  FLOOR_KIND_KEEP_TURNS: "keep_turns {value}",
  FLOOR_KIND_SPLIT_TURN: "split turn at message {value}",
  FLOOR_KIND_ELIDED_RESULTS: "elided results {value}",
  FLOOR_KIND_SUMMARY_LEFT_OUT: "summary left out",
  FLOOR_KIND_NO_TURN_FITS: "no turn fits",
  FLOOR_KIND_ELIDED_ARGUMENTS: "elided arguments {value}",
  FLOOR_KIND_ELIDED_TEXTS: "elided texts {value}",
  FLOOR_KIND_ELIDED_CALLS: "elided calls {value}",
  UNRECOGNIZED: "something gave way",
};

const strategyPrefix = "COMPRESSION_STRATEGY_";

/** A strategy as a row keeps it. */
export function storedStrategy(strategy: CompressionStrategy): string {
  return strategy.slice(strategyPrefix.length).toLowerCase();
}

export function strategyOf(stored: string): CompressionStrategy {
  return `${strategyPrefix}${stored.toUpperCase()}` as CompressionStrategy;
}

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
  readonly compressionStrategy: CompressionStrategy;
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
  readonly floors: readonly Floor[];
  readonly failures: readonly SummarizerFailure[];
  readonly createTime: Date | undefined;
  readonly applyTime: Date | undefined;
}
