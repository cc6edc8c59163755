import type { SummarizerFailure } from "../../domain/compaction.js";
import { type CountedTokens, countedTokens, plus } from "../../domain/token-units.js";
import { summaryText } from "../../ledger/view-compaction.js";
import { shownTurn } from "../../thread/shown-turn.js";
import { factsOf } from "../../thread/turn-facts.js";
import { countTokens } from "../../tokens/count-tokens.js";
import type { FoldPlan } from "../plan/fold-plan.js";
import type { PlannedFold } from "../plan/plan-fold.js";
import { StoredFold } from "../plan/stored-fold.js";
import type { FoldedTurn, SummaryTask } from "../plan/summary-task.js";
import { readWords } from "../plan/summary-words.js";
import { summarizeWithChain } from "../summarizers/chain.js";
import { summaryPrompt } from "../summarizers/prompt.js";
import { transcriptReader } from "../summarizers/transcript.js";
import { besideState } from "./beside-state.js";
import { chooseSummarizers } from "./choose-summarizers.js";
import type { CompactorDeps } from "./deps.js";
import { findOpenIdentifiers, transcribe } from "./fold-threads.js";
import type { CompactionJob, JobOutcome, MadeSummary } from "./job.js";

/** So much is summarized at once; what is more is summarized step by step, each with the summary of the one before. */
const foldTokens = 200_000;
/** So much of a summary may be identifiers that it must hold: one that is nothing else says nothing. */
const identifierShare = 0.4;

type SummaryOutcome =
  | { readonly kind: "made"; readonly plan: FoldPlan; readonly summary: Omit<MadeSummary, "durationMs"> }
  | Extract<JobOutcome, { kind: "failed" | "needed" }>;

/** Asks the summarizers of a job, one after the other, for a summary of what is folded. */
export async function summarizeFold(
  deps: CompactorDeps,
  job: CompactionJob,
  planned: PlannedFold,
  signal: AbortSignal,
): Promise<SummaryOutcome> {
  const { summarizers, missing, asksEngine } = chooseSummarizers(deps, job.settings, job.mayAskEngine);
  const ends = performance.now() + job.limitMs;
  const { compaction, texts } = job.thread;
  let previousSummary = compaction ? summaryText(compaction) : "";
  let previousWords = readWords(compaction?.wordsJson ?? null);
  const batches = foldBatches(deps, job, planned, signal);
  const failures: SummarizerFailure[] = [...missing];
  let made: Omit<MadeSummary, "durationMs"> | undefined;
  let plan: FoldPlan = { ...planned.plan, mustKeep: [] };
  let input = 0;
  let output = 0;
  for await (const { turns, isLast, unreadTokens, lastUnreadId } of batches) {
    const open = await findOpenIdentifiers(deps.offload, turns, planned.kept, signal);
    const mustKeep = fitting([...plan.mustKeep, ...open], plan.maxSummaryTokens);
    plan = {
      ...planned.plan,
      mustKeep,
      lastSummarizedTurnId:
        planned.plan.lastSummarizedTurnId ||
        lastUnreadId ||
        job.thread.compaction?.lastSummarizedTurnId ||
        "",
      replacedTokens: plus(planned.plan.replacedTokens, unreadTokens),
    };
    const task: SummaryTask = {
      previousSummary,
      previousWords,
      turns,
      kept: planned.kept,
      instructions: job.instructions,
      maxTokens: plan.maxSummaryTokens,
      mustKeep,
      texts,
    };
    const previousTokens = await deps.counter.count(previousSummary, "o200k_base", signal);
    const tokens = turns.reduce<number>((sum, turn) => sum + turn.tokens, previousTokens);
    const usable = made ? summarizers.filter(({ name }) => name === made!.summarizer) : summarizers;
    const result = await summarizeWithChain(usable, task, {
      count: (text) => deps.counter.count(text, "o200k_base", signal),
      replacedTokens: isLast ? Math.max(plan.replacedTokens, tokens) : tokens,
      deadlineMs: (summarizer) => {
        const left = Math.max(0, ends - performance.now());
        // Those that come after must have their chance within the same time.
        return summarizer === usable.at(-1) ? left : left * 0.7;
      },
      signal,
      timers: deps.timers,
    });
    failures.push(...result.failures);
    if (!result.summarizer) {
      if (asksEngine && !made) return needed(deps, job, plan, task, signal);
      return { kind: "failed", reason: "no summarizer gave a summary that could be used", failures };
    }
    const { summarizer, summary } = result;
    input += summary.cost.inputTokens;
    output += summary.cost.outputTokens;
    previousSummary = summary.text;
    previousWords = texts;
    made = {
      text: summary.text,
      strategy: job.settings.strategy,
      summarizer: summarizer.name,
      provider: summarizer.provider,
      model: summarizer.model,
      inputTokens: input,
      outputTokens: output,
      failures,
    };
  }
  return { kind: "made", plan, summary: made! };
}

/** The identifiers for which a summary has room, each once. */
function fitting(identifiers: readonly string[], maxSummaryTokens: number): readonly string[] {
  let room = maxSummaryTokens * identifierShare;
  return [...new Set(identifiers)].filter((identifier) => {
    const cost = countTokens(identifier, "o200k_base") + 1;
    if (cost > room) return false;
    room -= cost;
    return true;
  });
}

/** Asks the engine: its model gets what it takes of the conversation. */
async function needed(
  deps: CompactorDeps,
  job: CompactionJob,
  plan: FoldPlan,
  task: SummaryTask,
  signal: AbortSignal,
): Promise<SummaryOutcome> {
  const room = Number.isFinite(job.goal.roomTokens) ? Math.max(job.goal.roomTokens, 2_048) : foldTokens;
  const { task: told } = await besideState(deps.offload, task, signal);
  const transcript = await transcribe(deps.offload, told, signal, room);
  const reader = transcriptReader(transcript, (text) => countTokens(text, "o200k_base"), task.texts);
  return { kind: "needed", plan, prompt: summaryPrompt(told, reader.next(room)) };
}

interface FoldBatch {
  readonly turns: readonly FoldedTurn[];
  readonly isLast: boolean;
  /** What the turns before the window cost that were read so far, and the last of them. */
  readonly unreadTokens: CountedTokens;
  readonly lastUnreadId: string;
}

/** The turns to fold, a bounded part at a time. Most often there is one. */
async function* foldBatches(
  deps: CompactorDeps,
  { thread, clean }: CompactionJob,
  { unreadFrom, unreadTo, folded }: PlannedFold,
  signal: AbortSignal,
): AsyncGenerator<FoldBatch> {
  let waiting: FoldedTurn[] = [];
  let tokens = 0;
  let unreadTokens = countedTokens(0);
  let lastUnreadId = "";
  const isFull = (turn: FoldedTurn) => tokens + turn.tokens > foldTokens && waiting.length > 0;
  const take = (isLast = false): FoldBatch => {
    const turns = waiting;
    waiting = [];
    tokens = 0;
    return { turns, isLast, unreadTokens, lastUnreadId };
  };
  const add = (turn: FoldedTurn) => {
    waiting.push(turn);
    tokens += turn.tokens;
  };
  const how = { vocabulary: "o200k_base", texts: thread.texts, clean } as const;
  for (const segment of thread.segments) {
    const part = {
      ...segment,
      fromDepth: Math.max(segment.fromDepth, unreadFrom),
      toDepth: Math.min(segment.toDepth, unreadTo),
    };
    if (part.fromDepth > part.toDepth) continue;
    for await (const turns of deps.ledger.cache.read(thread.tenantId, thread.epoch, part)) {
      signal.throwIfAborted();
      for (const stored of turns) {
        const shown = shownTurn(stored, factsOf(stored), thread.compaction, how);
        const turn = new StoredFold(shown);
        if (isFull(turn)) yield take();
        add(turn);
        unreadTokens = plus(unreadTokens, shown.tokens);
        lastUnreadId = stored.turnId;
      }
    }
  }
  for (const turn of folded) {
    if (isFull(turn)) yield take();
    add(turn);
  }
  yield take(true);
}
