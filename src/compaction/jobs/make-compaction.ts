import { atLeast, countedTokens } from "../../domain/token-units.js";
import { readWindow } from "../../ledger/thread-window.js";
import type { CompactedThread } from "../../storage/ledger/compaction-store.js";
import type { CompactionRow } from "../../storage/ledger/rows.js";
import { planFold } from "../plan/plan-fold.js";
import { compactionRow } from "./compaction-row.js";
import type { CompactorDeps } from "./deps.js";
import type { CompactionJob, JobOutcome } from "./job.js";
import { summarizeFold } from "./summarize-fold.js";

/** Stores a compaction, and says what came of it. */
export type WriteCompaction<Answer> = (row: CompactionRow, thread: CompactedThread) => Promise<Answer>;

/** Makes one compaction, from the plan to the row. What is about the database is thrown, and what `write` throws. */
export async function makeCompaction<Answer>(
  deps: CompactorDeps,
  job: CompactionJob,
  signal: AbortSignal,
  write: WriteCompaction<Answer>,
): Promise<Answer | Exclude<JobOutcome, { kind: "done" }>> {
  const { thread, goal, clean } = job;
  const enough = atLeast(goal.roomTokens, goal.targetTokens);
  // Without a bound in tokens enough is read to say how long a summary should be; what is older is read when it is summarized.
  const isBounded = Number.isFinite(enough);
  const tokens = isBounded ? enough : countedTokens(0);
  const minTurns = goal.keepTurns + (isBounded ? 1 : 2_000);
  const window = await readWindow(deps.ledger, thread, clean, tokens, minTurns, signal);
  const planned = await planFold(job, window, signal);
  if (!planned) return { kind: "nothing" };
  const started = performance.now();
  const outcome = await summarizeFold(deps, job, planned, signal);
  if (outcome.kind !== "made") return outcome;
  const summary = { ...outcome.summary, durationMs: performance.now() - started };
  const row = await compactionRow(deps, job, outcome.plan, summary);
  return write(row, thread);
}
