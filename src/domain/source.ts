import type { AgentRole } from "./agent-role.js";

/** Where in a context the blocks of a source stand. */
export const SourcePosition = {
  UNSPECIFIED: "SOURCE_POSITION_UNSPECIFIED",
  SYSTEM: "SOURCE_POSITION_SYSTEM",
  BEFORE_HISTORY: "SOURCE_POSITION_BEFORE_HISTORY",
  CURRENT: "SOURCE_POSITION_CURRENT",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type SourcePosition = (typeof SourcePosition)[keyof typeof SourcePosition];

/** How recalled texts are written. */
export const SourceFormat = {
  UNSPECIFIED: "SOURCE_FORMAT_UNSPECIFIED",
  SUMMARY: "SOURCE_FORMAT_SUMMARY",
  RAW: "SOURCE_FORMAT_RAW",
  STRUCTURED: "SOURCE_FORMAT_STRUCTURED",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type SourceFormat = (typeof SourceFormat)[keyof typeof SourceFormat];

/** What came of asking a source. */
export const SourceState = {
  UNSPECIFIED: "SOURCE_STATE_UNSPECIFIED",
  OK: "SOURCE_STATE_OK",
  EMPTY: "SOURCE_STATE_EMPTY",
  SUPPRESSED: "SOURCE_STATE_SUPPRESSED",
  TIMED_OUT: "SOURCE_STATE_TIMED_OUT",
  FAILED: "SOURCE_STATE_FAILED",
  SKIPPED: "SOURCE_STATE_SKIPPED",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type SourceState = (typeof SourceState)[keyof typeof SourceState];

export interface SourceThreshold {
  readonly name: string;
  readonly value: number;
}

/** Whether and how a source is part of contexts, as one of source, server, capsule or request says it. */
export interface SourceRule {
  readonly name: string;
  readonly enabled?: boolean | undefined;
  /** Empty: not said. */
  readonly roles: readonly AgentRole[];
  readonly position: SourcePosition;
  readonly priority?: number | undefined;
  readonly order?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly maxChars?: number | undefined;
  readonly suppressedBy?: string | undefined;
  readonly deadlineMs?: number | undefined;
  readonly cacheSeconds?: number | undefined;
  readonly thresholds: readonly SourceThreshold[];
  readonly format: SourceFormat;
}
