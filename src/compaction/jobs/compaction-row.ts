import { toMicroseconds } from "../../domain/clock.js";
import { storedStrategy } from "../../domain/compaction.js";
import { CompressionStrategy } from "../../domain/context-settings.js";
import { emptyMessage, MessageRole, textPart } from "../../domain/message.js";
import type { CompactionRow } from "../../storage/ledger/rows.js";
import { encodeMessages } from "../../thread/message-codec.js";
import { messageOverheadTokens } from "../../thread/message-overhead.js";
import type { FoldPlan } from "../plan/fold-plan.js";
import type { CompactionGoal } from "../plan/goal.js";
import { keptWords } from "../plan/summary-words.js";
import type { CompactorDeps } from "./deps.js";
import type { CompactionJob, MadeSummary } from "./job.js";

/** The row of a compaction with its summary. */
export async function compactionRow(
  deps: CompactorDeps,
  job: Pick<
    CompactionJob,
    "thread" | "trigger" | "settings" | "instructions" | "isPrepared" | "recoveredCall" | "goalId"
  > & {
    readonly goal: Pick<CompactionGoal, "keepTurns" | "targetTokens">;
  },
  plan: Omit<FoldPlan, "mustKeep">,
  made: MadeSummary,
  reuseKey: Buffer,
): Promise<CompactionRow> {
  const { thread, goal, settings } = job;
  const id = deps.ids.next();
  const nowMs = deps.clock.now();
  const text = `${thread.texts["summary-mark"]}\n${made.text}`;
  const summaryTokens = await deps.counter.count(text);
  const message = {
    ...emptyMessage,
    id,
    turnId: id,
    role: MessageRole.USER,
    parts: [textPart(text)],
    o200kTokens: summaryTokens,
    createTime: new Date(nowMs),
  };
  const isHead = plan.anchorTurnId === thread.head?.id;
  const parameters = {
    keep_turns: goal.keepTurns,
    target_tokens: goal.targetTokens,
    max_summary_tokens: plan.maxSummaryTokens,
    ...(settings.strategy === CompressionStrategy.TRUNCATE ? { keep_recent: settings.keepRecent ?? "" } : {}),
    ...(settings.strategy === CompressionStrategy.TIME_DECAY
      ? { half_life_turns: settings.halfLifeTurns }
      : {}),
    ...(settings.strategy === CompressionStrategy.SUMMARY
      ? { chunk_tokens: settings.chunkTokens ?? "" }
      : {}),
  };
  return {
    tenantId: thread.tenantId,
    id,
    sessionId: thread.session.id,
    anchorTurnId: plan.anchorTurnId,
    recoveredCall: job.recoveredCall ?? null,
    branchId: isHead ? thread.head!.branchId : null,
    depth: isHead ? thread.head!.depth : null,
    previousId: thread.compaction?.id ?? null,
    lastSummarizedTurnId: plan.lastSummarizedTurnId || null,
    firstKeptTurnId: plan.firstKeptTurnId,
    firstKeptMessageIndex: plan.firstKeptMessageIndex,
    summarizedTurns: plan.summarizedTurns,
    trigger: job.trigger,
    strategy: storedStrategy(made.strategy),
    parametersJson: JSON.stringify(
      Object.fromEntries(
        Object.entries(parameters)
          .filter(([, value]) => value !== "" && value !== Number.POSITIVE_INFINITY)
          .map(([name, value]) => [name, String(value)]),
      ),
    ),
    summarizer: made.summarizer,
    provider: made.provider,
    model: made.model,
    tokensBefore: BigInt(plan.replacedTokens + plan.keptTokens),
    tokensAfter: BigInt(summaryTokens + messageOverheadTokens + plan.keptTokens),
    summaryTokens,
    inputTokens: BigInt(made.inputTokens),
    outputTokens: BigInt(made.outputTokens),
    durationMs: Math.round(made.durationMs),
    instructions: job.instructions,
    floorsJson: JSON.stringify(plan.floors),
    failuresJson: JSON.stringify(made.failures),
    wire: encodeMessages([message]).wire as unknown as CompactionRow["wire"],
    wordsJson: keptWords(thread.texts),
    createdUs: toMicroseconds(nowMs),
    appliedUs: job.isPrepared ? null : toMicroseconds(nowMs),
    goal: job.goalId,
    reuseKey: reuseKey as unknown as CompactionRow["reuseKey"],
  };
}
