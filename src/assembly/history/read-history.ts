import type { PlannedJob } from "../../compaction/jobs/compactor.js";
import { goalId } from "../../compaction/jobs/job-goal.js";
import type { WantedHistory } from "../../compaction/jobs/wanted.js";
import type { FoldPlan } from "../../compaction/plan/fold-plan.js";
import { type CompactionGoal, targetShare } from "../../compaction/plan/goal.js";
import { planFold } from "../../compaction/plan/plan-fold.js";
import { CompactionTrigger } from "../../domain/compaction.js";
import { BudgetPolicy, CompressionStrategy } from "../../domain/context-settings.js";
import { atLeast, type CountedTokens, countedTokens, minus, plus } from "../../domain/token-units.js";
import { type EffectiveThread, heldBy } from "../../ledger/effective-thread.js";
import { readWindow, type ThreadWindow } from "../../ledger/thread-window.js";
import { unscaled } from "../../models/token-scale.js";
import type { HeldCompaction } from "../../storage/ledger/held-compactions.js";
import { summaryCost } from "../../thread/summary-cost.js";
import type { CutLimits } from "../../thread/window-cut.js";
import type { ContextPlan } from "../plan/plan.js";
import { pinKey } from "../resolve/pin.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import { type CutInput, chooseCut, mostWithin } from "./choose-cut.js";
import type { HistoryRooms } from "./choose-turns.js";
import { type HistoryDeps, historyRooms, isClean, type OtherTokens, otherTokens } from "./history.js";
import { savedByMarks } from "./pinned-turns.js";

/** What of a resolved request it needs. */
export type ReadHistoryInput = CutInput & Pick<ResolvedContext, "capsule" | "role">;

/** The thread as it can be shown, and whether it should be compacted first. */
export interface HistoryState {
  readonly thread: EffectiveThread;
  readonly window: ThreadWindow;
  /** What history may cost, as it is counted. */
  readonly roomTokens: CountedTokens;
  /** What is wanted of the session's history; undefined where it is never compacted. */
  readonly wanted: WantedHistory | undefined;
  readonly job: HistoryJob | undefined;
}

export type HistoryJob = Omit<PlannedJob, "limitMs">;

/**
 * Chooses the cut, reads the history that would be shown with it, and decides whether it is to be compacted first. Where tools or system prompt are
 * written anew, the prompt cache is lost already.
 */
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
  const mayFold = mayCompact(resolved);
  const compaction = resolved.holdsCompactions
    ? await chooseCut(deps, resolved, goal, otherTokens(others), isRewritten, mayFold)
    : resolved.thread.compaction;
  const thread = { ...resolved.thread, compaction };
  const { roomTokens } = goal;
  const window = await readShown(deps, resolved, thread, goal, signal);
  const wanted = mayFold ? wantedFor(resolved, goal) : undefined;
  if (isInRoom(resolved, window, goal)) return { thread, window, roomTokens, wanted, job: undefined };
  const planned = wanted && (await planFold({ ...wanted, thread }, window, signal));
  const room = { tokens: goal.targetTokens, messages: goal.targetMessages };
  const existing = await mostWithin(deps, resolved, room, compaction);
  if (existing && (!planned || keepsAsMuch(existing, planned.plan))) {
    const row = await deps.ledger.compactions.held(heldBy(thread), existing.id);
    const further = { ...thread, compaction: row };
    const shown = await readShown(deps, resolved, further, goal, signal);
    if (row && isInRoom(resolved, shown, goal))
      return { thread: further, window: shown, roomTokens, wanted, job: undefined };
  }
  if (!planned) return { thread, window, roomTokens, wanted, job: undefined };
  const isLooping = (resolved.activeTurn?.messageCount ?? 0) > 0;
  const trigger = isLooping ? CompactionTrigger.TOOL_LOOP : CompactionTrigger.CONTEXT_LIMIT;
  const asked = { trigger, instructions: "", mayAskEngine: true, isPrepared: false, floorModel: undefined };
  return { thread, window, roomTokens, wanted, job: { ...wanted, ...asked, thread, planned } };
}

/** Whether a cut keeps as much as a plan would. */
function keepsAsMuch(
  cut: Pick<HeldCompaction, "summarizedTurns" | "firstKeptMessageIndex">,
  plan: Pick<FoldPlan, "summarizedTurns" | "firstKeptMessageIndex">,
): boolean {
  return cut.summarizedTurns === plan.summarizedTurns
    ? cut.firstKeptMessageIndex <= plan.firstKeptMessageIndex
    : cut.summarizedTurns < plan.summarizedTurns;
}

function wantedFor(resolved: ReadHistoryInput, goal: CompactionGoal): WantedHistory {
  const { compaction: settings } = resolved.settings;
  const { model, role, replay, limitTokens } = pinKey(resolved);
  return {
    goal,
    goalId: goalId({ of: ["context", model, role, replay, limitTokens], goal, settings, instructions: "" }),
    clean: isClean(resolved),
    settings,
    vocabulary: resolved.scale.vocabulary,
  };
}

function mayCompact({ settings, request }: ReadHistoryInput): boolean {
  const { policy, compaction } = settings;
  return (
    policy === BudgetPolicy.ELASTIC && compaction.strategy !== CompressionStrategy.WINDOW && !request.dryRun
  );
}

/** Whether history fits as it would be shown: with the marks of the context before, where they stay. */
export function isInRoom(resolved: ReadHistoryInput, window: ThreadWindow, goal: CompactionGoal): boolean {
  const { tokens: unmarked, messages } = shownCost(window);
  const tokens = minus(unmarked, countedTokens(savedByMarks(resolved, window.compaction?.id ?? "")));
  return window.wholeThread && tokens <= goal.roomTokens && messages <= goal.roomMessages;
}

export function shownCost(window: ThreadWindow): CutLimits {
  const summary = summaryCost(window.compaction);
  const messages = window.newestFirst.reduce(
    (sum, turn) => sum + turn.facts.spokenMessages + (turn.unanswered.length > 0 ? 1 : 0),
    summary.messages,
  );
  return { tokens: plus(window.tokens, summary.tokens), messages };
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
