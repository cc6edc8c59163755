import { setMaxListeners } from "node:events";
import { systemTimers, type Timers } from "../../domain/clock.js";
import type { SummarizerFailure } from "../../domain/compaction.js";
import { untilAborted } from "../../domain/until-aborted.js";
import { checkSummary } from "../plan/check-summary.js";
import type { SummaryTask } from "../plan/summary-task.js";
import type { Summarizer, Summary } from "./summarizer.js";

export interface ChainOptions {
  readonly count: (text: string) => number | Promise<number>;
  /** What the messages cost that the summary stands for. */
  readonly replacedTokens: number;
  /** How long each summarizer may take. */
  readonly deadlineMs: number | ((summarizer: Summarizer) => number);
  readonly signal: AbortSignal;
  readonly timers?: Timers;
  /** Told of each failure when it happens. Must not throw. */
  readonly onFailure?: (failure: SummarizerFailure) => void;
}

export type ChainResult =
  | {
      readonly summarizer: Summarizer;
      readonly summary: Summary;
      /** What the summary costs. */
      readonly tokens: number;
      /** Of the summarizers that were tried before. */
      readonly failures: readonly SummarizerFailure[];
    }
  | { readonly summarizer?: undefined; readonly failures: readonly SummarizerFailure[] };

/** A longer text cannot be within its limit, and is not counted. */
const longestToken = 64;
const longestReason = 300;

/**
 * The first summary of the list that can be used.
 * - A summarizer that throws, is late or makes a summary that must be refused is a failure; the next one is tried.
 * - One that is late is abandoned, whether or not it heeds its signal.
 * - Throws the reason of the signal when that aborts, and nothing else.
 */
export async function summarizeWithChain(
  summarizers: readonly Summarizer[],
  task: SummaryTask,
  options: ChainOptions,
): Promise<ChainResult> {
  const failures: SummarizerFailure[] = [];
  for (const summarizer of summarizers) {
    options.signal.throwIfAborted();
    const outcome = await attempt(summarizer, task, options);
    if (typeof outcome !== "string") return { summarizer, ...outcome, failures };
    const failure = { summarizer: summarizer.name, reason: outcome };
    failures.push(failure);
    options.onFailure?.(failure);
  }
  options.signal.throwIfAborted();
  return { failures };
}

/** A summary that can be used, or why there is none. */
async function attempt(
  summarizer: Summarizer,
  task: SummaryTask,
  { count, replacedTokens, deadlineMs, signal, timers = systemTimers }: ChainOptions,
): Promise<{ readonly summary: Summary; readonly tokens: number } | string> {
  const { name } = summarizer;
  const limitMs = Math.floor(typeof deadlineMs === "function" ? deadlineMs(summarizer) : deadlineMs);
  if (limitMs <= 0) return `There was no time left for ${name}.`;
  const own = new AbortController();
  // Every call of a long summary listens to it.
  setMaxListeners(0, own.signal);
  const stop = () => own.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const timer = timers.after(limitMs, () => own.abort(new Error("time limit")));
  try {
    const work = Promise.resolve().then(() => summarizer.summarize(task, own.signal));
    const summary: Partial<Summary> | undefined = await untilAborted(work, own.signal);
    if (typeof summary?.text !== "string" || summary.cost === undefined) return `${name} returned nothing.`;
    const { text, cost } = summary;
    if (text.length > task.maxTokens * longestToken)
      return `The summary of ${name} is over its limit (${text.length} characters for ${task.maxTokens} tokens).`;
    const tokens = await count(text);
    const { maxTokens, mustKeep } = task;
    const refusal = checkSummary({ text, tokens, replacedTokens, maxTokens, mustKeep });
    return refusal ? `The summary of ${name} ${refusal}.` : { summary: { text, cost }, tokens };
  } catch (error) {
    signal.throwIfAborted();
    if (own.signal.aborted) return `${name} was not done within ${limitMs} ms.`;
    return `${name} ${failureWords(error)}.`;
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", stop);
  }
}

/** A summarizer's message, which by its contract says why and holds nothing of the conversation. */
function failureWords(error: unknown): string {
  const message = error instanceof Error ? error.message.replace(/\s+/g, " ").replace(/[\s.]+$/, "") : "";
  return message.slice(0, longestReason) || "failed";
}
