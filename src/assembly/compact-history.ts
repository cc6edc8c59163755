import { unscaled } from "../budget/token-scale.js";
import type { SummaryPrompt } from "../compaction/prompt.js";
import { fromMicroseconds, toMicroseconds } from "../domain/clock.js";
import type { SummarizerFailure } from "../domain/compaction.js";
import { CompactionTrigger } from "../domain/compaction.js";
import { BudgetPolicy, CompressionStrategy } from "../domain/context-settings.js";
import type { CompactionRow } from "../storage/ledger/rows.js";
import type { CallLimits } from "./assemble.js";
import { type HistoryRooms, summaryCost } from "./choose-turns.js";
import type { CompactionGoal, CompactionJob, FoldPlan, JobOutcome } from "./compaction/job.js";
import { planFold } from "./compaction/plan-fold.js";
import { timeLeftMs } from "./compaction/time-left.js";
import type { AssemblyDeps } from "./deps.js";
import { historyRooms, isClean, type OtherTokens } from "./history.js";
import type { ContextPlan } from "./plan.js";
import type { ResolvedContext } from "./resolve.js";
import { type EffectiveThread, readWindow, type ThreadWindow } from "./thread-window.js";

/** What is said about a compaction while it is made. */
export type CompactionNotice =
  | {
      readonly kind: "started";
      readonly trigger: CompactionTrigger;
      readonly strategy: CompressionStrategy;
      readonly summarizers: readonly string[];
      readonly historyTokens: number;
      readonly targetTokens: number;
    }
  | { readonly kind: "finished"; readonly row: CompactionRow }
  | { readonly kind: "failed"; readonly reason: string; readonly failures: readonly SummarizerFailure[] }
  | {
      readonly kind: "needed";
      readonly plan: FoldPlan;
      readonly sessionId: string;
      readonly previousId: string;
      readonly trigger: CompactionTrigger;
      readonly prompt: SummaryPrompt;
    };

/** History is compacted to this share of what is available, before a turn. */
const beforeTurnShare = 0.6;
/** How long an assembly without a deadline waits for a compaction. */
const longestWaitMs = 60_000;
/** So much of the wait may go to one that is being prepared; the rest is for one that is made instead. */
const preparedShare = 0.4;

/** The thread as it can be shown, and whether it should be compacted first. */
export interface HistoryState {
  readonly thread: EffectiveThread;
  readonly window: ThreadWindow;
  readonly job: Omit<CompactionJob, "limitMs"> | undefined;
}

/** Reads the history that would be shown, and decides whether it is to be compacted first. Where the system prompt is written anew, the prompt cache is lost already. */
export async function readHistory(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  plan: ContextPlan,
  others: OtherTokens,
  signal?: AbortSignal,
  isRewritten = false,
): Promise<HistoryState> {
  const rooms = historyRooms(resolved, plan, others);
  const goal = goalOf(resolved, plan, others, rooms);
  const { thread } = resolved;
  const window = await readShown(deps, resolved, thread, goal, signal);
  if (!mayCompact(resolved)) return { thread, window, job: undefined };
  const { settings, session, tenantId } = resolved;
  const wanted = { goal, clean: isClean(resolved), settings: settings.compaction };
  deps.compactor.remember(tenantId, session.id, wanted);
  if (!isDue(resolved, window, goal, isRewritten)) return { thread, window, job: undefined };
  const trigger = resolved.activeTurn ? CompactionTrigger.TOOL_LOOP : CompactionTrigger.CONTEXT_LIMIT;
  const job = { ...wanted, thread, trigger, instructions: "", mayAskEngine: true, isPrepared: false };
  const canFold = (await planFold(job, window.newestFirst.toReversed(), signal)) !== undefined;
  return { thread, window, job: canFold ? job : undefined };
}

/** Compacts where that is due. Gives the history to show then, whatever came of it. */
export async function* compactHistory(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  state: HistoryState,
  { signal, deadlineMs }: CallLimits,
): AsyncGenerator<CompactionNotice, ThreadWindow> {
  const { job } = state;
  if (!job) return state.window;
  const { goal, settings, trigger } = job;
  const { tenantId, session } = resolved;
  await deps.compactor.prepared(
    tenantId,
    session.id,
    timeLeftMs(deadlineMs, longestWaitMs) * preparedShare,
    signal,
  );
  const ready = await swapIn(deps, resolved, state, signal);
  if (ready) {
    yield { kind: "finished", row: ready.compaction! };
    return ready;
  }
  yield {
    kind: "started",
    trigger,
    strategy: settings.strategy,
    summarizers: settings.strategy === CompressionStrategy.SUMMARY ? settings.summarizers : [],
    historyTokens: shownCost(state.window).tokens,
    targetTokens: goal.targetTokens,
  };
  const waitMs = timeLeftMs(deadlineMs, longestWaitMs);
  const outcome = await deps.compactor.run({ ...job, limitMs: waitMs * 0.9 }, waitMs, signal);
  const notice = noticeOf(job, outcome);
  yield notice;
  if (notice.kind !== "finished") return state.window;
  return readShown(deps, resolved, { ...state.thread, compaction: notice.row }, goal, signal);
}

function noticeOf(job: Omit<CompactionJob, "limitMs">, outcome: JobOutcome | undefined): CompactionNotice {
  if (!outcome)
    return {
      kind: "failed",
      reason: "it was not done in time; it goes on, and history is cut",
      failures: [],
    };
  switch (outcome.kind) {
    case "done":
      return { kind: "finished", row: outcome.row };
    case "needed":
      return {
        ...outcome,
        sessionId: job.thread.session.id,
        previousId: job.thread.compaction?.id ?? "",
        trigger: job.trigger,
      };
    case "failed":
      return outcome;
    default:
      return { kind: "failed", reason: "there is nothing that a summary could stand for", failures: [] };
  }
}

function mayCompact({ settings, request }: ResolvedContext): boolean {
  const { policy, compaction } = settings;
  return (
    policy === BudgetPolicy.ELASTIC && compaction.strategy !== CompressionStrategy.WINDOW && !request.dryRun
  );
}

/** Whether history does not fit; or is near its limit while the prompt cache is cold or lost anyway, so that nothing is lost by it. */
function isDue(
  resolved: ResolvedContext,
  window: ThreadWindow,
  goal: CompactionGoal,
  isRewritten: boolean,
): boolean {
  const { tokens, messages } = shownCost(window);
  if (!window.wholeThread || tokens > goal.roomTokens || messages > goal.roomMessages) return true;
  const { softThreshold } = resolved.settings.compaction;
  const isNear = softThreshold < 1 && tokens >= softThreshold * goal.roomTokens;
  return isNear && (isRewritten || isCold(resolved));
}

function shownCost(window: ThreadWindow): { readonly tokens: number; readonly messages: number } {
  const summary = summaryCost(window.compaction);
  const messages = window.newestFirst.reduce(
    (sum, turn) => sum + turn.facts.spokenMessages + (turn.unanswered.length > 0 ? 1 : 0),
    summary.messages,
  );
  return { tokens: window.tokens + summary.tokens, messages };
}

/** Whether what a provider kept of the last context has expired. Inside a turn it has not. */
export function isCold({ head, activeTurn, nowMs, model }: ResolvedContext): boolean {
  if (activeTurn || !head?.completedUs) return false;
  return nowMs - fromMicroseconds(head.completedUs).getTime() > model.entry.cache.ttlSeconds * 1_000;
}

/** What history may cost and what it should, in o200k tokens. */
function goalOf(
  resolved: ResolvedContext,
  plan: ContextPlan,
  others: OtherTokens,
  { room, fullRoom }: HistoryRooms,
): CompactionGoal {
  const { scale, settings } = resolved;
  const used = others.system + others.tools + others.event;
  const whole = Math.floor(plan.limits.available * beforeTurnShare) - used;
  const cap = plan.historyCap === undefined ? Number.POSITIVE_INFINITY : plan.historyCap * beforeTurnShare;
  const maxMessages = settings.maxMessages ?? Number.POSITIVE_INFINITY;
  return {
    targetTokens: Math.max(0, unscaled(scale, Math.floor(Math.min(whole, cap, room)))),
    roomTokens: unscaled(scale, room),
    fullRoomTokens: unscaled(scale, fullRoom),
    targetMessages: Math.floor(maxMessages * beforeTurnShare),
    roomMessages: maxMessages,
    keepTurns: settings.keepTurns,
    keepAtMost: Number.POSITIVE_INFINITY,
  };
}

function readShown(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  thread: EffectiveThread,
  goal: CompactionGoal,
  signal: AbortSignal | undefined,
): Promise<ThreadWindow> {
  return readWindow(deps, thread, isClean(resolved), goal.roomTokens, goal.keepTurns + 1, signal);
}

/** Puts a compaction in force that was prepared for this, if history fits with it. */
async function swapIn(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  { thread, job }: HistoryState,
  signal: AbortSignal | undefined,
): Promise<ThreadWindow | undefined> {
  const { compactions } = deps.ledger;
  const prepared = await compactions.prepared(thread.tenantId, thread.segments, thread.compaction);
  if (!prepared) return undefined;
  const { goal } = job!;
  const window = await readShown(deps, resolved, { ...thread, compaction: prepared }, goal, signal);
  const cost = shownCost(window);
  if (!window.wholeThread || cost.tokens > goal.roomTokens || cost.messages > goal.roomMessages)
    return undefined;
  const appliedUs = toMicroseconds(resolved.nowMs);
  const outcome = await compactions.apply(prepared, thread, appliedUs);
  if (outcome.kind !== "written") return undefined;
  return { ...window, compaction: outcome.row };
}
