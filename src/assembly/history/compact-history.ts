import type { Compactor } from "../../compaction/jobs/compactor.js";
import type { JobOutcome } from "../../compaction/jobs/job.js";
import { timeLeftMs } from "../../compaction/jobs/time-left.js";
import type { FoldPlan } from "../../compaction/plan/fold-plan.js";
import type { SummaryPrompt } from "../../compaction/summarizers/prompt.js";
import { toMicroseconds } from "../../domain/clock.js";
import type { CompactionTrigger, SummarizerFailure } from "../../domain/compaction.js";
import { CompressionStrategy } from "../../domain/context-settings.js";
import { heldBy } from "../../ledger/effective-thread.js";
import type { ThreadWindow } from "../../ledger/thread-window.js";
import type { CompactionRow } from "../../storage/ledger/rows.js";
import type { CallLimits } from "../call-limits.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import type { HistoryDeps } from "./history.js";
import {
  type HistoryJob,
  type HistoryState,
  isInRoom,
  type ReadHistoryInput,
  readShown,
  shownCost,
} from "./read-history.js";

/** What of a resolved request it needs. */
export type CompactHistoryInput = ReadHistoryInput & Pick<ResolvedContext, "session" | "tenantId">;

export interface CompactHistoryDeps extends HistoryDeps {
  readonly compactor: Compactor;
}

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
      /** Stands for what it is wanted for. */
      readonly goal: string;
      readonly trigger: CompactionTrigger;
      readonly prompt: SummaryPrompt;
    };

/** How long an assembly without a deadline waits for a compaction. */
const longestWaitMs = 60_000;
/** So much of the wait may go to one that is being prepared; the rest is for one that is made instead. */
const preparedShare = 0.4;

/** Compacts. Gives the history to show then, whatever came of it. */
export async function* compactHistory(
  deps: CompactHistoryDeps,
  resolved: CompactHistoryInput,
  state: HistoryState,
  job: HistoryJob,
  { signal, deadlineMs }: CallLimits,
): AsyncGenerator<CompactionNotice, ThreadWindow> {
  const { tenantId, session } = resolved;
  const { goal, settings, trigger } = job;
  await deps.compactor.prepared(
    tenantId,
    session.id,
    timeLeftMs(deadlineMs, longestWaitMs) * preparedShare,
    signal,
  );
  const ready = await swapIn(deps, resolved, state, job, signal);
  if (ready) {
    yield { kind: "finished", row: ready.row };
    return ready.window;
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

function noticeOf(job: HistoryJob, outcome: JobOutcome | undefined): CompactionNotice {
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
        goal: job.goalId,
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

/**
 * Puts a compaction in force that was prepared for this, if it leaves as much room as a cut should. One that another request for the same
 * context has put in force already is taken again, so that both get the same history.
 */
async function swapIn(
  deps: CompactHistoryDeps,
  resolved: CompactHistoryInput,
  { thread }: HistoryState,
  { goal, goalId, settings, planned }: HistoryJob,
  signal: AbortSignal | undefined,
): Promise<{ readonly row: CompactionRow; readonly window: ThreadWindow } | undefined> {
  const { compactions } = deps.ledger;
  const prepared = await compactions.madeFor(heldBy(thread), goalId);
  if (!prepared || prepared.summarizedTurns < (thread.compaction?.summarizedTurns ?? 0)) return undefined;
  const row = await compactions.find(thread.tenantId, prepared.id);
  if (!row) return undefined;
  const window = await readShown(deps, resolved, { ...thread, compaction: row }, goal, signal);
  const { tokens, messages } = shownCost(window);
  const isRoomy = tokens <= settings.softThreshold * goal.roomTokens && messages <= goal.roomMessages;
  // Where the last turns alone are over the target, no other cut would leave more.
  const isAllThereIs =
    prepared.summarizedTurns >= planned.plan.summarizedTurns && isInRoom(resolved, window, goal);
  if (!window.wholeThread || !(isRoomy || isAllThereIs)) return undefined;
  const applied = await compactions.apply(thread.tenantId, row.id, toMicroseconds(resolved.nowMs));
  // What it costs is counted as the rest of history is.
  const { summaryTokens } = window.compaction!;
  return applied && { row: applied, window: { ...window, compaction: { ...applied, summaryTokens } } };
}
