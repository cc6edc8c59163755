import { CompressionStrategy } from "../../domain/context-settings.js";
import type { PromptTexts } from "../../domain/prompt-texts.js";
import { type CountedTokens, countedTokens, least, minus, plus, sumOf } from "../../domain/token-units.js";
import { messageOverheadTokens } from "../../thread/message-overhead.js";
import type { ShownTurn } from "../../thread/shown-turn.js";
import { summaryCost } from "../../thread/summary-cost.js";
import { countsOf, type ThreadCounts } from "../../thread/thread-counts.js";
import { traceTurns } from "../../thread/trace-turns.js";
import { factsOf } from "../../thread/turn-facts.js";
import { unansweredTokens } from "../../thread/unanswered.js";
import { countTokens } from "../../tokens/count-tokens.js";
import type { FoldPlan } from "./fold-plan.js";
import type { CompactionGoal } from "./goal.js";
import { type CutGoal, planCut } from "./plan-cut.js";
import { StoredFold } from "./stored-fold.js";
import { leastSummaryTokens, summaryRooms } from "./summary-room.js";
import type { FoldedTurn } from "./summary-task.js";

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
  /** What the messages cost that are summarized of the first turn which is kept. */
  readonly splitCounts: ThreadCounts;
}

/** A thread that is to come down to a goal. */
export interface FoldTask {
  readonly thread: {
    readonly compaction: FoldedBefore | undefined;
    readonly head: { readonly id: string } | undefined;
    readonly activeTurn: { readonly id: string } | undefined;
    readonly texts: PromptTexts;
  };
  readonly goal: CompactionGoal;
  readonly clean: boolean;
  readonly settings: {
    readonly strategy: CompressionStrategy;
    readonly keepRecent: number | undefined;
    readonly summaryTokens: number | undefined;
  };
}

/** The newest turns of the thread, newest first, and its summary as they are counted. */
export interface FoldWindow {
  readonly newestFirst: readonly ShownTurn[];
  readonly compaction: { readonly summaryTokens: number } | undefined;
}

/** The summary that a thread begins with already. */
interface FoldedBefore {
  readonly summarizedTurns: number;
  readonly summaryTokens: number;
  readonly anchorTurnId: string;
}

/** Where to cut, and what the summary stands for then. */
export async function planFold(
  job: FoldTask,
  window: FoldWindow,
  signal?: AbortSignal,
): Promise<PlannedFold | undefined> {
  const { thread, goal, clean, settings } = job;
  const oldestFirst = window.newestFirst.toReversed();
  const summarized = thread.compaction?.summarizedTurns ?? 0;
  const first = oldestFirst[0];
  if (!first) return undefined;
  const unreadTo = first.stored.depth - 1;
  const previous = summaryCost(window.compaction);
  const whole = sumOf(oldestFirst, (turn) => o200kTokens(turn, clean));
  // The goal is in the tokens of the window, a summary is counted in o200k tokens: it will cost about as many as what it stands for.
  const ratio = whole > 0 ? sumOf(oldestFirst, (turn) => turn.tokens) / whole : 1;
  const rooms =
    settings.summaryTokens === undefined
      ? summaryRooms(countedTokens(goal.targetTokens / ratio), whole)
      : [settings.summaryTokens];
  const markTokens = countTokens(`${thread.texts["summary-mark"]}\n`, "o200k_base");
  const traced = await traceTurns(oldestFirst, clean, signal);
  const planWith = (summaryTokens: CountedTokens) => {
    const reserve = countedTokens(Math.ceil((summaryTokens + markTokens) * ratio) + messageOverheadTokens);
    if (reserve > goal.fullRoomTokens || goal.roomMessages < 1) return undefined;
    const cutGoal: CutGoal = {
      targetTokens: minus(goal.targetTokens, reserve),
      roomTokens: minus(goal.fullRoomTokens, reserve),
      targetMessages: goal.targetMessages - 1,
      roomMessages: goal.roomMessages - 1,
      uncutTokens: minus(goal.fullRoomTokens, previous.tokens),
      uncutMessages: goal.roomMessages - previous.messages,
      keepTurns: goal.keepTurns,
      keepAtMost: Math.min(
        goal.keepAtMost,
        settings.strategy === CompressionStrategy.TRUNCATE
          ? (settings.keepRecent ?? Number.POSITIVE_INFINITY)
          : Number.POSITIVE_INFINITY,
      ),
    };
    const cut = planCut(traced, cutGoal, unreadTo > summarized);
    return cut && { cut, summaryTokens };
  };
  // The last turns come before a long summary; where they give way in any case, it stays long.
  const tried = rooms.map((tokens) => planWith(countedTokens(tokens)));
  const planned = tried.find((one) => one?.cut.floors.length === 0) ?? tried.find((one) => one !== undefined);
  if (!planned) return undefined;
  const { cut, summaryTokens } = planned;
  const keptTurn = oldestFirst[cut.turn]!;
  const keptTokens = sumOf(oldestFirst.slice(cut.turn), (turn) =>
    o200kTokens(turn, clean, turn === keptTurn ? cut.messageIndex : 0),
  );
  const replaced = minus(plus(summaryCost(thread.compaction).tokens, whole), keptTokens);
  const folded = oldestFirst.slice(0, cut.turn).map((turn) => new StoredFold(turn));
  if (cut.messageIndex > 0) folded.push(new StoredFold(keptTurn, 0, cut.messageIndex));
  const kept = oldestFirst
    .slice(cut.turn)
    .map((turn) => new StoredFold(turn, turn === keptTurn ? cut.messageIndex : 0));
  // Where nothing but the open turn is kept, the summary must not outlive a failure of that turn.
  const isOnActive =
    thread.compaction !== undefined && thread.compaction.anchorTurnId === thread.activeTurn?.id;
  const anchorTurnId = keptTurn.isActive || isOnActive ? thread.activeTurn!.id : thread.head?.id;
  // With its mark it must cost less than what it replaces.
  const lessThanReplaced = countedTokens(replaced - messageOverheadTokens - markTokens - 1);
  const maxSummaryTokens = unreadTo > summarized ? summaryTokens : least(summaryTokens, lessThanReplaced);
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
      keptTokens,
      floors: cut.floors,
    },
    folded,
    kept,
    unreadFrom: summarized + 1,
    unreadTo,
    splitCounts: splitCounts(keptTurn, keptTurn.from + cut.messageIndex),
  };
}

/** What the messages of a turn before one of them cost, as they are counted with the thread. */
export function splitCounts({ stored }: ShownTurn, messageIndex: number): ThreadCounts {
  const before = factsOf(stored).messages.slice(0, messageIndex);
  return countsOf(
    before.map(({ role, cleanTokens, sentTokens }) => ({
      isSystem: role === "S",
      parts: minus(cleanTokens, messageOverheadTokens),
      context: minus(sentTokens, cleanTokens),
    })),
  );
}

/** What a turn costs from a message on, in o200k tokens, whatever it is counted with otherwise. */
function o200kTokens(turn: ShownTurn, clean: boolean, messageIndex = 0): CountedTokens {
  if (turn.vocabulary === "o200k_base" && messageIndex === 0) return turn.tokens;
  const spoken = factsOf(turn.stored)
    .messages.slice(turn.from + messageIndex)
    .filter(({ role }) => role !== "S");
  return plus(
    sumOf(spoken, ({ cleanTokens, sentTokens }) => (clean ? cleanTokens : sentTokens)),
    unansweredTokens({ ...turn, vocabulary: "o200k_base" }),
  );
}
