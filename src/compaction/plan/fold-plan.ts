import type { Floor } from "../../domain/compaction.js";
import type { CountedTokens } from "../../domain/token-units.js";

/** What a summary is to stand for. */
export interface FoldPlan {
  readonly anchorTurnId: string;
  readonly lastSummarizedTurnId: string;
  readonly firstKeptTurnId: string;
  readonly firstKeptMessageIndex: number;
  readonly summarizedTurns: number;
  readonly maxSummaryTokens: CountedTokens;
  readonly replacedTokens: CountedTokens;
  readonly keptTokens: CountedTokens;
  readonly mustKeep: readonly string[];
  readonly floors: readonly Floor[];
}
