import { messageOverheadTokens } from "../../budget/token-scale.js";
import { type CutGoal, planCut } from "../../compaction/plan-cut.js";
import type { FoldedTurn } from "../../compaction/summarizer.js";
import { CompressionStrategy } from "../../domain/context-settings.js";
import { countTokens } from "../../tokens/count-tokens.js";
import { summaryCost } from "../choose-turns.js";
import type { WindowTurn } from "../thread-window.js";
import { cutTurns } from "./cut-turns.js";
import type { CompactionJob, FoldPlan } from "./job.js";
import { StoredFold } from "./stored-fold.js";

/** Below this a summary says nothing. */
const leastSummaryTokens = 24;
const mostSummaryTokens = 4_096;
const summaryShare = 0.2;

/** A plan, and the turns that it folds. */
export interface PlannedFold {
  /** As far as the window says: what is before it may hold open work, costs more, and ends with a turn of its own. */
  readonly plan: Omit<FoldPlan, "mustKeep">;
  /** The turns of the window that are folded, whole or up to a message, oldest first; those before the window are read when they are needed. */
  readonly folded: readonly FoldedTurn[];
  readonly kept: readonly FoldedTurn[];
  /** Turns before the window that no summary stands for yet: from this depth on. */
  readonly unreadFrom: number;
  readonly unreadTo: number;
}

/** Where to cut, and what the summary stands for then. */
export async function planFold(
  job: Pick<CompactionJob, "thread" | "goal" | "clean" | "settings">,
  oldestFirst: readonly WindowTurn[],
  signal?: AbortSignal,
): Promise<PlannedFold | undefined> {
  const { thread, goal, clean, settings } = job;
  const summarized = thread.compaction?.summarizedTurns ?? 0;
  const first = oldestFirst[0];
  if (!first) return undefined;
  const unreadTo = first.stored.depth - 1;
  const previous = summaryCost(thread.compaction);
  const whole = oldestFirst.reduce((sum, turn) => sum + turn.tokens, 0);
  const summaryTokens = settings.summaryTokens ?? summaryLimit(goal.targetTokens, whole);
  const mark = `${thread.texts["summary-mark"]}\n`;
  const reserve = summaryTokens + messageOverheadTokens + countTokens(mark, "o200k_base");
  if (reserve > goal.fullRoomTokens || goal.roomMessages < 1) return undefined;
  const cutGoal: CutGoal = {
    targetTokens: goal.targetTokens - reserve,
    roomTokens: goal.fullRoomTokens - reserve,
    targetMessages: goal.targetMessages - 1,
    roomMessages: goal.roomMessages - 1,
    uncutTokens: goal.fullRoomTokens - previous.tokens,
    uncutMessages: goal.roomMessages - previous.messages,
    keepTurns: goal.keepTurns,
    keepAtMost: Math.min(
      goal.keepAtMost,
      settings.strategy === CompressionStrategy.TRUNCATE
        ? (settings.keepRecent ?? Number.POSITIVE_INFINITY)
        : Number.POSITIVE_INFINITY,
    ),
  };
  const cut = planCut(await cutTurns(oldestFirst, clean, signal), cutGoal, unreadTo > summarized);
  if (!cut) return undefined;
  const keptTurn = oldestFirst[cut.turn]!;
  const replaced = previous.tokens + whole - cut.keptTokens;
  const folded = oldestFirst.slice(0, cut.turn).map((turn) => new StoredFold(turn));
  if (cut.messageIndex > 0) folded.push(new StoredFold(keptTurn, 0, cut.messageIndex));
  const kept = oldestFirst
    .slice(cut.turn)
    .map((turn) => new StoredFold(turn, turn === keptTurn ? cut.messageIndex : 0));
  // Where nothing but the open turn is kept, the summary must not outlive a failure of that turn.
  const isOnActive =
    thread.compaction !== undefined && thread.compaction.anchorTurnId === thread.activeTurn?.id;
  const anchorTurnId = keptTurn.isActive || isOnActive ? thread.activeTurn!.id : thread.head?.id;
  const maxSummaryTokens = Math.min(
    summaryTokens,
    unreadTo > summarized ? summaryTokens : replaced - reserve + summaryTokens - 1,
  );
  if (!anchorTurnId || maxSummaryTokens < leastSummaryTokens) return undefined;
  return {
    plan: {
      anchorTurnId,
      lastSummarizedTurnId: oldestFirst[cut.turn - 1]?.stored.turnId ?? "",
      firstKeptTurnId: keptTurn.stored.turnId,
      firstKeptMessageIndex: keptTurn.from + cut.messageIndex,
      summarizedTurns: keptTurn.stored.depth - 1,
      maxSummaryTokens,
      replacedTokens: replaced,
      keptTokens: cut.keptTokens,
      floors: cut.floors,
    },
    folded,
    kept,
    unreadFrom: summarized + 1,
    unreadTo,
  };
}

/** What a summary may cost where nobody says: a share of what history should come down to. Without such a target, more of what is short. */
function summaryLimit(targetTokens: number, wholeTokens: number): number {
  const share = Number.isFinite(targetTokens)
    ? summaryShare * targetTokens
    : Math.max(summaryShare * wholeTokens, Math.min(512, 0.4 * wholeTokens));
  return Math.min(mostSummaryTokens, Math.max(leastSummaryTokens, Math.floor(share)));
}
