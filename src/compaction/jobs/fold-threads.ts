import { type Offload, task } from "../../offload/offload.js";
import { type PackedFold, pack } from "../plan/stored-fold.js";
import type { FoldedTurn, SummaryTask } from "../plan/summary-task.js";
import type { Summarizer } from "../summarizers/summarizer.js";
import type { PricedEntry } from "../summarizers/transcript.js";
import {
  type EmbeddedStrategy,
  openIdentifiersOf,
  summarizePacked,
  transcriptOfPacked,
  type WorkStateText,
  workStateOf,
} from "./fold-work.js";

const module = "src/compaction/jobs/fold-work.ts";
const summarizing = task<typeof summarizePacked>(module, "summarizePacked");
const finding = task<typeof openIdentifiersOf>(module, "openIdentifiersOf");
const stating = task<typeof workStateOf>(module, "workStateOf");
const transcribing = task<typeof transcriptOfPacked>(module, "transcriptOfPacked");
/** Folds up to this are worked on at once: some milliseconds, where the first use of a thread takes some hundred. */
const summarizedBytes = 8_192;
/** Looking for identifiers and counting cost much less than choosing sentences. */
const readBytes = 32_768;

/** A summarizer that needs no network and costs nothing. Long folds are summarized in a worker thread, in the same words. */
export function embeddedSummarizer(
  offload: Offload,
  name: string,
  model: string,
  strategy: EmbeddedStrategy,
): Summarizer {
  return {
    name,
    provider: "quire",
    model,
    async summarize(given, signal) {
      signal.throwIfAborted();
      const turns = given.turns.map(pack);
      const kept = (given.kept ?? []).map(pack);
      const input = { strategy, task: { ...given, turns, kept } };
      const isSmall = bytesOf(turns) + bytesOf(kept) + given.previousSummary.length <= summarizedBytes;
      const text = isSmall ? summarizePacked(input) : await offload.run(summarizing, input, signal);
      return { text, cost: { inputTokens: 0, outputTokens: 0 } };
    },
  };
}

/** The embedded summarizer that chooses sentences. */
export function extractiveSummarizer(offload: Offload): Summarizer {
  return embeddedSummarizer(offload, "extractive", "extractive-1", { kind: "extractive" });
}

/** The state of the work, in at most so many tokens, for a summary that a model writes. */
export async function findWorkState(
  offload: Offload,
  given: SummaryTask,
  tokens: number,
  signal: AbortSignal,
): Promise<WorkStateText> {
  const packed = { ...given, turns: given.turns.map(pack), kept: (given.kept ?? []).map(pack) };
  const isSmall = bytesOf(packed.turns) + bytesOf(packed.kept) <= readBytes;
  const input = { task: packed, tokens };
  return isSmall ? workStateOf(input) : offload.run(stating, input, signal);
}

/** Identifiers of open work in what is folded. */
export async function findOpenIdentifiers(
  offload: Offload,
  folded: readonly FoldedTurn[],
  kept: readonly FoldedTurn[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const input = { folded: folded.map(pack), kept: kept.map(pack) };
  return bytesOf(input.folded) + bytesOf(input.kept) <= readBytes
    ? openIdentifiersOf(input)
    : offload.run(finding, input, signal);
}

/** The transcript of what is folded, up to so many tokens. */
export async function transcribe(
  offload: Offload,
  { turns, texts }: Pick<SummaryTask, "turns" | "texts">,
  signal: AbortSignal,
  mostTokens = Number.POSITIVE_INFINITY,
): Promise<readonly (readonly PricedEntry[])[]> {
  const input = { turns: turns.map(pack), texts, mostTokens };
  return bytesOf(input.turns) <= readBytes
    ? transcriptOfPacked(input)
    : offload.run(transcribing, input, signal);
}

function bytesOf(turns: readonly PackedFold[]): number {
  return turns.reduce((sum, { wire }) => sum + wire.length, 0);
}
