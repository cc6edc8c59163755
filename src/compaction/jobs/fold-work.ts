import { defaultPromptTexts, fill, type PromptTexts } from "../../domain/prompt-texts.js";
import { countTokens } from "../../tokens/count-tokens.js";
import { boundTurns } from "../extractive/bound-turns.js";
import { summarizeExtractively } from "../extractive/extractive.js";
import { summarizeByImportance } from "../extractive/importance.js";
import { summarizeByCount } from "../extractive/left-out.js";
import { carriedState } from "../extractive/state/with-state.js";
import { summarizeWithDecay } from "../extractive/time-decay.js";
import { hasWords } from "../plan/check-summary.js";
import { openIdentifiers } from "../plan/identifiers.js";
import { type PackedFold, unpack } from "../plan/stored-fold.js";
import { summaryLimit } from "../plan/summary-limit.js";
import type { SummaryTask } from "../plan/summary-task.js";
import { type PricedEntry, pricedTranscript } from "../summarizers/transcript.js";

/** What is done with the turns of a fold, for worker threads: it grows with the text. */

export type EmbeddedStrategy =
  | { readonly kind: "extractive" }
  | { readonly kind: "importance" }
  | { readonly kind: "truncate" }
  | { readonly kind: "time_decay"; readonly halfLifeTurns: number };

export interface PackedTask extends Omit<SummaryTask, "turns" | "kept"> {
  readonly turns: readonly PackedFold[];
  readonly kept: readonly PackedFold[];
}

/** So many characters of a fold are read; of longer texts, the middle is left out. */
const mostChars = 2 * 1024 * 1024;

const count = (text: string) => countTokens(text, "o200k_base");
const read = (turns: readonly PackedFold[]) => boundTurns(turns.map(unpack), mostChars);

export function summarizePacked(input: {
  readonly strategy: EmbeddedStrategy;
  readonly task: PackedTask;
}): string {
  const task = { ...input.task, turns: read(input.task.turns), kept: read(input.task.kept) };
  const text = summarize(input.strategy, task);
  // Of turns without a word, such as one of signs only, there is nothing to say but that they were.
  const { texts = defaultPromptTexts } = task;
  return hasWords(text) ? text : fill(texts["extract-left-out"], { count: task.turns.length });
}

function summarize(strategy: EmbeddedStrategy, task: SummaryTask): string {
  if (strategy.kind === "truncate") return summarizeByCount(task, count);
  if (strategy.kind === "importance") return summarizeByImportance(task, count);
  if (strategy.kind === "time_decay") return summarizeWithDecay(task, count, strategy.halfLifeTurns);
  return summarizeExtractively(task, count);
}

/** The state of the work for a summary that somebody else writes, and what the summary before says besides. */
export function workStateOf(input: { readonly task: PackedTask; readonly tokens: number }): WorkStateText {
  const task = { ...input.task, turns: read(input.task.turns), kept: read(input.task.kept) };
  const carried = carriedState(task, count);
  const text = carried?.write(Math.min(input.tokens, summaryLimit(task, count))) ?? "";
  if (!carried || text === "") return { text: "", tokens: 0, previousSummary: task.previousSummary };
  return { text, tokens: count(`\n${text}`), previousSummary: carried.previousSummary };
}

export interface WorkStateText {
  readonly text: string;
  readonly tokens: number;
  readonly previousSummary: string;
}

export function openIdentifiersOf(input: {
  readonly folded: readonly PackedFold[];
  readonly kept: readonly PackedFold[];
}): string[] {
  return openIdentifiers(read(input.folded), read(input.kept));
}

export function transcriptOfPacked(input: {
  readonly turns: readonly PackedFold[];
  readonly texts: PromptTexts | undefined;
  readonly mostTokens: number;
}): PricedEntry[][] {
  return pricedTranscript(input.turns.map(unpack), count, input.texts, input.mostTokens);
}
