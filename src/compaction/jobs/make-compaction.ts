import { atLeast, countedTokens } from "../../domain/token-units.js";
import { readWindow } from "../../ledger/thread-window.js";
import { summaryText } from "../../ledger/view-compaction.js";
import type { CompactionDraft } from "../../storage/ledger/compaction-store.js";
import type { CompactedThread } from "../../storage/ledger/held-compactions.js";
import { noCounts, plusCounts } from "../../thread/thread-counts.js";
import { type PlannedFold, planFold } from "../plan/plan-fold.js";
import { chooseSummarizers, engineName } from "./choose-summarizers.js";
import { compactionRow } from "./compaction-row.js";
import type { CompactorDeps } from "./deps.js";
import type { CompactionJob, JobOutcome, MadeSummary } from "./job.js";
import { reuseKey } from "./reuse-key.js";
import { summarizeFold } from "./summarize-fold.js";

/** Stores a compaction, and says what came of it. */
export type WriteCompaction<Answer> = (draft: CompactionDraft, thread: CompactedThread) => Promise<Answer>;

/** Where a thread is to be cut; undefined where there is nothing that a summary could stand for. */
export async function planCompaction(
  deps: CompactorDeps,
  job: CompactionJob,
  signal: AbortSignal,
): Promise<PlannedFold | undefined> {
  const { thread, goal, clean } = job;
  const enough = atLeast(goal.roomTokens, goal.targetTokens);
  // Without a bound in tokens enough is read to say how long a summary should be; what is older is read when it is summarized.
  const isBounded = Number.isFinite(enough);
  const tokens = isBounded ? enough : countedTokens(0);
  const minTurns = goal.keepTurns + (isBounded ? 1 : 2_000);
  const window = await readWindow(deps.ledger, thread, clean, tokens, minTurns, signal);
  return planFold(job, window, signal);
}

/** Makes one compaction, from the plan to the row. What is about the database is thrown, and what `write` throws. */
export async function makeCompaction<Answer>(
  deps: CompactorDeps,
  job: CompactionJob,
  planned: PlannedFold,
  signal: AbortSignal,
  write: WriteCompaction<Answer>,
): Promise<Answer | Exclude<JobOutcome, { kind: "done" }>> {
  const { thread } = job;
  const { summarizedTurns } = planned.plan;
  const last = await deps.ledger.threads.findTurnAt(thread.tenantId, thread.segments, summarizedTurns);
  const keyFor = (summarizer: string) =>
    reuseKey({ ...job, ...planned.plan, chainHash: last?.chainHash, summarizer, texts: thread.texts });
  const reused = await reusedSummary(deps, job, planned, keyFor);
  const started = performance.now();
  const outcome = reused ?? (await summarizeFold(deps, job, planned, signal));
  if (outcome.kind !== "made") return outcome;
  const summary: MadeSummary = { ...outcome.summary, durationMs: performance.now() - started };
  const row = await compactionRow(deps, job, outcome.plan, summary, keyFor(summary.summarizer));
  const before = plusCounts(last ?? noCounts, planned.splitCounts);
  return write({ row, before, floorModel: job.floorModel }, thread);
}

/** A summary of the same turns that was made before, if history is on its target with it. */
async function reusedSummary(
  deps: CompactorDeps,
  job: CompactionJob,
  { plan }: PlannedFold,
  keyFor: (summarizer: string) => Buffer,
) {
  const { summarizers, asksEngine } = chooseSummarizers(deps, job.settings, job.mayAskEngine);
  const maker = summarizers[0]?.name ?? (asksEngine ? engineName : undefined);
  if (maker === undefined) return undefined;
  const found = await deps.ledger.compactions.reusable(job.thread.tenantId, keyFor(maker));
  if (!found) return undefined;
  const isShort = found.summaryTokens <= plan.maxSummaryTokens;
  if (!isShort && found.summaryTokens + plan.keptTokens > job.goal.targetTokens) return undefined;
  const { summarizer, provider, model } = found;
  return {
    kind: "made" as const,
    plan: { ...plan, lastSummarizedTurnId: found.lastSummarizedTurnId ?? "", mustKeep: [] },
    summary: {
      text: summaryText(found),
      strategy: job.settings.strategy,
      summarizer,
      provider,
      model,
      inputTokens: 0,
      outputTokens: 0,
      failures: [],
    },
  };
}
