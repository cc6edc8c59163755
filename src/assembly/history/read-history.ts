import type { RememberedGoal } from "../../compaction/jobs/deps.js";
import type { CompactionJob } from "../../compaction/jobs/job.js";
import type { CompactionGoal } from "../../compaction/plan/goal.js";
import { planFold } from "../../compaction/plan/plan-fold.js";
import { fromMicroseconds } from "../../domain/clock.js";
import { CompactionTrigger } from "../../domain/compaction.js";
import { BudgetPolicy, CompressionStrategy } from "../../domain/context-settings.js";
import { atLeast, countedTokens, minus, plus } from "../../domain/token-units.js";
import type { EffectiveThread } from "../../ledger/effective-thread.js";
import { readWindow, type ThreadWindow } from "../../ledger/thread-window.js";
import { unscaled } from "../../models/token-scale.js";
import { summaryCost } from "../../thread/summary-cost.js";
import type { CutLimits } from "../../thread/window-cut.js";
import type { ContextPlan } from "../plan/plan.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import type { HistoryRooms } from "./choose-turns.js";
import { type HistoryDeps, historyRooms, isClean, type OtherTokens, targetShare } from "./history.js";
import { savedByMarks } from "./pinned-turns.js";

/** What of a resolved request it needs. */
export type ReadHistoryInput = Pick<
  ResolvedContext,
  "activeTurn" | "head" | "model" | "nowMs" | "pin" | "request" | "scale" | "settings" | "thread"
>;

/** The thread as it can be shown, and whether it should be compacted first. */
export interface HistoryState {
  readonly thread: EffectiveThread;
  readonly window: ThreadWindow;
  /** What is wanted of the session's history; undefined where it is never compacted. */
  readonly wanted: RememberedGoal | undefined;
  readonly job: Omit<CompactionJob, "limitMs"> | undefined;
}

/** Reads the history that would be shown, and decides whether it is to be compacted first. Where the system prompt is written anew, the prompt cache is lost already. */
export async function readHistory(
  deps: HistoryDeps,
  resolved: ReadHistoryInput,
  plan: ContextPlan,
  others: OtherTokens,
  signal?: AbortSignal,
  isRewritten = false,
): Promise<HistoryState> {
  const rooms = historyRooms(resolved, plan, others);
  const goal = goalOf(resolved, rooms);
  const { thread } = resolved;
  const window = await readShown(deps, resolved, thread, goal, signal);
  if (!mayCompact(resolved)) return { thread, window, wanted: undefined, job: undefined };
  const job = { goal, clean: isClean(resolved), settings: resolved.settings.compaction };
  const wanted = { ...job, vocabulary: resolved.scale.vocabulary };
  if (!isDue(resolved, window, goal, isRewritten)) return { thread, window, wanted, job: undefined };
  const trigger = resolved.activeTurn ? CompactionTrigger.TOOL_LOOP : CompactionTrigger.CONTEXT_LIMIT;
  const canFold = (await planFold({ ...job, thread }, window, signal)) !== undefined;
  const due = { ...job, thread, trigger, instructions: "", mayAskEngine: true, isPrepared: false };
  return { thread, window, wanted, job: canFold ? due : undefined };
}

function mayCompact({ settings, request }: ReadHistoryInput): boolean {
  const { policy, compaction } = settings;
  return (
    policy === BudgetPolicy.ELASTIC && compaction.strategy !== CompressionStrategy.WINDOW && !request.dryRun
  );
}

/** Whether history does not fit; or is near its limit while the prompt cache is cold or lost anyway, so that nothing is lost by it. */
function isDue(
  resolved: ReadHistoryInput,
  window: ThreadWindow,
  goal: CompactionGoal,
  isRewritten: boolean,
): boolean {
  const { tokens: unmarked, messages } = shownCost(window);
  const tokens = minus(unmarked, countedTokens(savedByMarks(resolved, window.compaction?.id ?? "")));
  if (!window.wholeThread || tokens > goal.roomTokens || messages > goal.roomMessages) return true;
  const { softThreshold } = resolved.settings.compaction;
  const isNear = softThreshold < 1 && tokens >= softThreshold * goal.roomTokens;
  return isNear && (isRewritten || isCold(resolved));
}

export function shownCost(window: ThreadWindow): CutLimits {
  const summary = summaryCost(window.compaction);
  const messages = window.newestFirst.reduce(
    (sum, turn) => sum + turn.facts.spokenMessages + (turn.unanswered.length > 0 ? 1 : 0),
    summary.messages,
  );
  return { tokens: plus(window.tokens, summary.tokens), messages };
}

/** Whether what a provider kept of the last context has expired. Inside a turn it has not. */
export function isCold({ head, activeTurn, nowMs, model }: ReadHistoryInput): boolean {
  if (activeTurn || !head?.completedUs) return false;
  return nowMs - fromMicroseconds(head.completedUs).getTime() > model.entry.cache.ttlSeconds * 1_000;
}

/** What history may cost and what it should, as it is counted. */
function goalOf(resolved: ReadHistoryInput, { room, fullRoom, target }: HistoryRooms): CompactionGoal {
  const { scale, settings } = resolved;
  const maxMessages = settings.maxMessages ?? Number.POSITIVE_INFINITY;
  return {
    targetTokens: atLeast(unscaled(scale, target), 0),
    roomTokens: unscaled(scale, room),
    fullRoomTokens: unscaled(scale, fullRoom),
    targetMessages: Math.floor(maxMessages * targetShare),
    roomMessages: maxMessages,
    keepTurns: settings.keepTurns,
    keepAtMost: Number.POSITIVE_INFINITY,
  };
}

export function readShown(
  deps: HistoryDeps,
  resolved: ReadHistoryInput,
  thread: EffectiveThread,
  goal: CompactionGoal,
  signal: AbortSignal | undefined,
): Promise<ThreadWindow> {
  const saved = countedTokens(savedByMarks(resolved, thread.compaction?.id ?? ""));
  const tokens = plus(goal.roomTokens, saved);
  return readWindow(deps.ledger, thread, isClean(resolved), tokens, goal.keepTurns + 1, signal);
}
