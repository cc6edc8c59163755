import { boundTurns } from "../../compaction/bound-turns.js";
import { summarizeExtractively } from "../../compaction/extractive.js";
import { openIdentifiers } from "../../compaction/identifiers.js";
import { summarizeByImportance } from "../../compaction/importance.js";
import type { SummaryTask } from "../../compaction/summarizer.js";
import { summarizeWithDecay } from "../../compaction/time-decay.js";
import { type PricedEntry, pricedTranscript } from "../../compaction/transcript.js";
import { countTokens } from "../../tokens/count-tokens.js";
import { type PackedFold, unpack } from "./stored-fold.js";

/** What is done with the turns of a fold, for worker threads: it grows with the text. */

export type EmbeddedStrategy =
  | { readonly kind: "extractive" }
  | { readonly kind: "importance" }
  | { readonly kind: "time_decay"; readonly halfLifeTurns: number };

export interface PackedTask extends Omit<SummaryTask, "turns"> {
  readonly turns: readonly PackedFold[];
}

/** So many characters of a fold are read; of longer texts, the middle is left out. */
const MOST_CHARS = 2 * 1024 * 1024;

const count = (text: string) => countTokens(text, "o200k_base");
const read = (turns: readonly PackedFold[]) => boundTurns(turns.map(unpack), MOST_CHARS);

export function summarizePacked(input: {
  readonly strategy: EmbeddedStrategy;
  readonly task: PackedTask;
}): string {
  const { strategy } = input;
  const task = { ...input.task, turns: read(input.task.turns) };
  if (strategy.kind === "importance") return summarizeByImportance(task, count);
  if (strategy.kind === "time_decay") return summarizeWithDecay(task, count, strategy.halfLifeTurns);
  return summarizeExtractively(task, count);
}

export function openIdentifiersOf(input: {
  readonly folded: readonly PackedFold[];
  readonly kept: readonly PackedFold[];
}): string[] {
  return openIdentifiers(read(input.folded), read(input.kept));
}

export function transcriptOfPacked(input: {
  readonly turns: readonly PackedFold[];
  readonly mostTokens: number;
}): PricedEntry[][] {
  return pricedTranscript(input.turns.map(unpack), count, input.mostTokens);
}
