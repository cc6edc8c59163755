import type { Offload } from "../../offload/offload.js";
import { hasWords } from "../plan/check-summary.js";
import { mentions } from "../plan/identifiers.js";
import type { SummaryTask } from "../plan/summary-task.js";
import type { Summarizer } from "../summarizers/summarizer.js";
import { findWorkState } from "./fold-threads.js";

/** So much of a model's summary is for the state of the work: what it says of names it may get wrong. */
const stateShare = 0.5;

/** What a model is asked for, and the state of the work that stands behind its words; empty for none. */
export interface ToldModel {
  readonly task: SummaryTask;
  readonly state: string;
}

export async function besideState(
  offload: Offload,
  task: SummaryTask,
  signal: AbortSignal,
): Promise<ToldModel> {
  const found = await findWorkState(offload, task, Math.floor(task.maxTokens * stateShare), signal);
  const { text: state, tokens, previousSummary } = found;
  if (state === "") return { task, state };
  return { task: { ...task, previousSummary, maxTokens: task.maxTokens - tokens }, state };
}

/** A model's words, and the state of the work behind them. Words that say nothing are left alone: they are refused. */
export function withWorkState(words: string, state: string): string {
  return state === "" || !hasWords(words) ? words : `${words.trimEnd()}\n${state}`;
}

/** A model that writes what was said, beside the state of the work, which is carried on as it is. */
export function statedSummarizer(offload: Offload, summarizer: Summarizer): Summarizer {
  const { name, provider, model } = summarizer;
  return {
    name,
    provider,
    model,
    async summarize(given, signal) {
      const { task, state } = await besideState(offload, given, signal);
      const mustKeep = task.mustKeep.filter((id) => !mentions(state, id));
      const { text, cost } = await summarizer.summarize({ ...task, mustKeep }, signal);
      return { text: withWorkState(text, state), cost };
    },
  };
}
