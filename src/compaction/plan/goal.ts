import type { CountedTokens } from "../../domain/token-units.js";

/** History is compacted to this share of what it may have, before a turn. */
export const targetShare = 0.6;

/** What history should come down to, the summary included. */
export interface CompactionGoal {
  readonly targetTokens: CountedTokens;
  /** More than this is compacted. */
  readonly roomTokens: CountedTokens;
  /** What the last turns may take, when memory gives way to them. */
  readonly fullRoomTokens: CountedTokens;
  readonly targetMessages: number;
  readonly roomMessages: number;
  readonly keepTurns: number;
  readonly keepAtMost: number;
}
