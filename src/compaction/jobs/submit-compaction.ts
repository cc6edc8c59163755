import { mergeSettings } from "../../capsule/context-settings.js";
import type { CompactionPlan } from "../../contract/gen/quire/v1/compaction.js";
import { CompactionTrigger } from "../../domain/compaction.js";
import { CompressionStrategy } from "../../domain/context-settings.js";
import { countedTokens, minus, plus, sumOf } from "../../domain/token-units.js";
import { TurnStatus } from "../../domain/turn.js";
import { QuireError } from "../../errors/quire-error.js";
import { type EffectiveThread, findWhole, heldBy } from "../../ledger/effective-thread.js";
import { readWindow } from "../../ledger/thread-window.js";
import { summaryText, viewCompaction } from "../../ledger/view-compaction.js";
import { sessionNotFound } from "../../storage/ledger/session-store.js";
import { isOnThread } from "../../storage/ledger/thread-store.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import { beginnings, splitPlaces } from "../../thread/beginnings.js";
import { summaryCost } from "../../thread/summary-cost.js";
import { noCounts, plusCounts } from "../../thread/thread-counts.js";
import { traceTurns } from "../../thread/trace-turns.js";
import { checkSummary } from "../plan/check-summary.js";
import { splitCounts } from "../plan/plan-fold.js";
import { StoredFold } from "../plan/stored-fold.js";
import { readWords } from "../plan/summary-words.js";
import { withWorkState } from "./beside-state.js";
import { engineName } from "./choose-summarizers.js";
import type { CompactAnswer } from "./compact-session.js";
import { compactionRow } from "./compaction-row.js";
import type { CompactionDeps } from "./deps.js";
import { findWorkState } from "./fold-threads.js";
import { requireWritten } from "./job.js";
import { reuseKey } from "./reuse-key.js";

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
  deps: CompactionDeps,
  key: WriteKey<CompactAnswer>,
  command: SubmitCompaction,
  signal: AbortSignal,
): Promise<CompactAnswer> {
  const { tenantId } = key;
  const answered = await deps.ledger.compactions.answered(key);
  if (answered) return answered;
  const found = await deps.ledger.threads.findThread(tenantId, command.session);
  if (!found) throw sessionNotFound(command.session);
  const plan = deps.planSeal.open(tenantId, found.session.id, command.planToken);
  const anchor = await deps.ledger.threads.findTurn(tenantId, plan.anchorTurnId);
  const isUnderHead =
    anchor?.sessionId === found.session.id && anchor.parentTurnId === found.session.headTurnId;
  const activeTurn = anchor?.status === TurnStatus.OPEN && isUnderHead ? anchor : undefined;
  const { texts } = await deps.templates.current();
  const whole = await findWhole(deps.ledger, { tenantId, ...found, texts, activeTurn });
  const { previousCompactionId: previousId } = plan;
  const of = heldBy(whole);
  const compaction = previousId === "" ? undefined : await deps.ledger.compactions.held(of, previousId);
  const thread = { ...whole, compaction };
  const isAnchored = activeTurn !== undefined || isOnThread(thread.segments, anchor);
  if (!isAnchored || (previousId !== "" && !compaction)) throw outdated("");
  const anchorDepth = activeTurn ? found.session.headDepth + 1 : anchor!.depth!;
  const fold = await foldOf(deps, thread, plan, anchorDepth, signal);
  if (!fold) throw outdated("");
  const tokens = await deps.counter.count(command.summary);
  const { mustKeep } = plan;
  const maxTokens = countedTokens(plan.maxSummaryTokens);
  const refusal = checkSummary({
    text: command.summary,
    tokens,
    replacedTokens: fold.replacedTokens,
    maxTokens,
    mustKeep,
  });
  if (refusal) throw QuireError.field("SUMMARY_REFUSED", "summary", refusal, { why: refusal });
  const task = {
    previousSummary: compaction ? summaryText(compaction) : "",
    previousWords: readWords(compaction?.wordsJson ?? null),
    turns: fold.folded,
    kept: fold.kept,
    instructions: "",
    maxTokens,
    mustKeep,
    texts,
  };
  // The joint of both may cost a token.
  const room = Math.min(maxTokens, fold.replacedTokens - 1) - tokens - 2;
  const state = await findWorkState(deps.offload, task, room, signal);
  const { model, provider, inputTokens, outputTokens, durationMs } = command;
  const job = {
    thread: { ...thread, head: activeTurn ? thread.head : anchor },
    trigger: plan.trigger,
    goal: { keepTurns: 0, targetTokens: plus(fold.keptTokens, maxTokens) },
    settings: mergeSettings(deps.settings, undefined, undefined).compaction,
    instructions: "",
    goalId: plan.goal,
    isPrepared: false,
  };
  const made = {
    text: withWorkState(command.summary, state.text),
    strategy: CompressionStrategy.SUMMARY,
    summarizer: engineName,
    provider,
    model,
    inputTokens,
    outputTokens,
    durationMs,
    failures: [],
  };
  const last = await deps.ledger.threads.findTurnAt(tenantId, thread.segments, fold.summarizedTurns);
  const origin = { ...job, ...plan, chainHash: last?.chainHash, summarizer: engineName, texts };
  const row = await compactionRow(
    deps,
    job,
    { ...plan, ...fold, maxSummaryTokens: maxTokens, floors: [] },
    made,
    reuseKey(origin),
  );
  const before = plusCounts(last ?? noCounts, fold.splitCounts);
  // What keeps more than a floor would never be shown.
  const floor = await deps.ledger.compactions.floor(of, "");
  if (floor && floor.beforeTokens >= before.threadTokens) throw outdated(floor.id);
  const draft = {
    row,
    before,
    floorModel: plan.trigger === CompactionTrigger.MANUAL ? "" : undefined,
  };
  return deps.ledger.compactions.write(key, draft, thread, (outcome) => {
    if (outcome.kind === "superseded") throw outdated(outcome.row.id);
    return { compaction: viewCompaction(requireWritten(outcome)) };
  });
}

function outdated(compactionId: string): QuireError {
  return new QuireError("COMPACTION_OUTDATED", "the thread is no longer what the plan was made for", {
    metadata: { compaction_id: compactionId },
  });
}

/** What the plan folds and keeps of the thread as it is now; undefined where it cannot be cut there. */
async function foldOf(
  deps: CompactionDeps,
  thread: EffectiveThread,
  plan: CompactionPlan,
  anchorDepth: number,
  signal: AbortSignal,
) {
  const window = await readWindow(
    deps.ledger,
    thread,
    false,
    countedTokens(Number.POSITIVE_INFINITY),
    0,
    signal,
  );
  const oldestFirst = window.newestFirst.toReversed();
  const at = oldestFirst.findIndex((turn) => turn.stored.turnId === plan.firstKeptTurnId);
  const first = oldestFirst[at];
  // It applies to forks that are made at its anchor: it must not say anything of turns after that.
  if (!first || first.stored.depth > anchorDepth) return undefined;
  const index = plan.firstKeptMessageIndex - first.from;
  const turns = await traceTurns(oldestFirst, false, signal);
  const isPlace =
    index === 0 ? at > 0 && beginnings(turns).includes(at) : splitPlaces(turns[at]!.messages).includes(index);
  const lastWhole = oldestFirst[at - 1]?.stored.turnId ?? thread.compaction?.lastSummarizedTurnId ?? "";
  if (!isPlace || lastWhole !== plan.lastSummarizedTurnId) return undefined;
  const { messages, extraTokens } = turns[at]!;
  const ofFirst = plus(
    sumOf(messages.slice(index), (message) => message.tokens),
    extraTokens,
  );
  const keptTokens = plus(
    ofFirst,
    sumOf(oldestFirst.slice(at + 1), (turn) => turn.tokens),
  );
  return {
    keptTokens,
    replacedTokens: plus(minus(window.tokens, keptTokens), summaryCost(thread.compaction).tokens),
    summarizedTurns: first.stored.depth - 1,
    splitCounts: splitCounts(first, plan.firstKeptMessageIndex),
    folded: [
      ...oldestFirst.slice(0, at).map((turn) => new StoredFold(turn)),
      ...(index > 0 ? [new StoredFold(first, 0, index)] : []),
    ],
    kept: oldestFirst.slice(at).map((turn) => new StoredFold(turn, turn === first ? index : 0)),
  };
}
