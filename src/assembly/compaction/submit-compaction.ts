import { mergeSettings } from "../../capsule/context-settings.js";
import { checkSummary } from "../../compaction/check-summary.js";
import { beginnings } from "../../compaction/plan-cut.js";
import type { CompactionPlan } from "../../contract/gen/quire/v1/compaction.js";
import { CompressionStrategy } from "../../domain/context-settings.js";
import { TurnStatus } from "../../domain/turn.js";
import { QuireError } from "../../errors/quire-error.js";
import { viewCompaction } from "../../ledger/view-compaction.js";
import { sessionNotFound } from "../../storage/ledger/session-store.js";
import { isOnThread } from "../../storage/ledger/thread-store.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import { summaryCost } from "../choose-turns.js";
import type { AssemblyDeps } from "../deps.js";
import { type EffectiveThread, findEffective, readWindow } from "../thread-window.js";
import { engineName } from "./choose-summarizers.js";
import type { CompactAnswer } from "./compact-session.js";
import { compactionRow } from "./compaction-row.js";
import { cutTurns } from "./cut-turns.js";
import { requireWritten } from "./job.js";

/** A summary that the engine's own model made. */
export interface SubmitCompaction {
  readonly session: string;
  readonly planToken: string;
  readonly summary: string;
  readonly model: string;
  readonly provider: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly durationMs: number;
}

/** Checks a summary and writes its compaction. */
export async function submitCompaction(
  deps: AssemblyDeps,
  key: WriteKey<CompactAnswer>,
  command: SubmitCompaction,
  signal: AbortSignal,
): Promise<CompactAnswer> {
  const { tenantId } = key;
  const before = await deps.ledger.compactions.answered(key);
  if (before) return before;
  const found = await deps.ledger.threads.findThread(tenantId, command.session);
  if (!found) throw sessionNotFound(command.session);
  const plan = deps.planSeal.open(tenantId, found.session.id, command.planToken);
  const anchor = await deps.ledger.threads.findTurn(tenantId, plan.anchorTurnId);
  const isUnderHead =
    anchor?.sessionId === found.session.id && anchor.parentTurnId === found.session.headTurnId;
  const activeTurn = anchor?.status === TurnStatus.OPEN && isUnderHead ? anchor : undefined;
  const thread = await findEffective(deps, { tenantId, ...found, activeTurn });
  const isAnchored = activeTurn !== undefined || isOnThread(thread.segments, anchor);
  if (!isAnchored || (thread.compaction?.id ?? "") !== plan.previousCompactionId) throw outdated(thread);
  const anchorDepth = activeTurn ? found.session.headDepth + 1 : anchor!.depth!;
  const fold = await foldOf(deps, thread, plan, anchorDepth, signal);
  if (!fold) throw outdated(thread);
  const tokens = await deps.counter.count(command.summary);
  const { maxSummaryTokens: maxTokens, mustKeep } = plan;
  const refusal = checkSummary({
    text: command.summary,
    tokens,
    replacedTokens: fold.replacedTokens,
    maxTokens,
    mustKeep,
  });
  if (refusal) throw QuireError.field("SUMMARY_REFUSED", "summary", refusal, { why: refusal });
  const { model, provider, inputTokens, outputTokens, durationMs } = command;
  const job = {
    thread: { ...thread, head: activeTurn ? thread.head : anchor },
    trigger: plan.trigger,
    goal: { keepTurns: 0, targetTokens: fold.keptTokens + maxTokens },
    settings: mergeSettings(deps.settings, undefined, undefined).compaction,
    instructions: "",
    isPrepared: false,
  };
  const made = {
    text: command.summary,
    strategy: CompressionStrategy.SUMMARY,
    summarizer: engineName,
    provider,
    model,
    inputTokens,
    outputTokens,
    durationMs,
    failures: [],
  };
  const row = await compactionRow(deps.compactor.deps, job, { ...plan, ...fold, floors: [] }, made);
  return deps.ledger.compactions.write(key, row, thread, (outcome) => ({
    compaction: viewCompaction(requireWritten(outcome)),
  }));
}

function outdated(thread: EffectiveThread): QuireError {
  return new QuireError("COMPACTION_OUTDATED", "the thread is no longer what the plan was made for", {
    metadata: { compaction_id: thread.compaction?.id ?? "" },
  });
}

/** What the plan folds and keeps of the thread as it is now; undefined where it cannot be cut there. */
async function foldOf(
  deps: AssemblyDeps,
  thread: EffectiveThread,
  plan: CompactionPlan,
  anchorDepth: number,
  signal: AbortSignal,
) {
  const window = await readWindow(deps, thread, false, Number.POSITIVE_INFINITY, 0, signal);
  const oldestFirst = window.newestFirst.toReversed();
  const at = oldestFirst.findIndex((turn) => turn.stored.turnId === plan.firstKeptTurnId);
  const first = oldestFirst[at];
  // It applies to all threads that contain its anchor: it must not say anything of turns after that.
  if (!first || first.stored.depth > anchorDepth) return undefined;
  const index = plan.firstKeptMessageIndex - first.from;
  const turns = await cutTurns(oldestFirst, false, signal);
  const isPlace =
    index === 0
      ? at > 0 && beginnings(turns).includes(at)
      : turns[at]!.messages[index]?.role === "A" && turns[at]!.messages[index - 1]?.role !== "A";
  const lastWhole = oldestFirst[at - 1]?.stored.turnId ?? thread.compaction?.lastSummarizedTurnId ?? "";
  if (!isPlace || lastWhole !== plan.lastSummarizedTurnId) return undefined;
  const keptTokens = oldestFirst.slice(at + 1).reduce(
    (sum, turn) => sum + turn.tokens,
    turns[at]!.messages.slice(index).reduce((sum, message) => sum + message.tokens, turns[at]!.extraTokens),
  );
  return {
    keptTokens,
    replacedTokens: window.tokens - keptTokens + summaryCost(thread.compaction).tokens,
    summarizedTurns: first.stored.depth - 1,
  };
}
