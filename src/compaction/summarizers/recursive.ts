import { EndpointFailure } from "../../endpoints/call-failure.js";
import type { CountTokens, SummaryTask } from "../plan/summary-task.js";
import { type SummaryPrompt, summaryPrompt } from "./prompt.js";
import type { Summary, SummaryCost } from "./summarizer.js";
import { type PricedEntry, pricedTranscript, transcriptReader } from "./transcript.js";

/** Asks a model once. The answer has at most so many of the model's tokens. */
export type CallModel = (
  prompt: SummaryPrompt,
  outputTokens: number,
  signal: AbortSignal,
) => Promise<{
  readonly text: string;
  /** As the provider counts; undefined where it does not say. */
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
}>;

/** Makes the transcript of turns, with what each piece of it costs. */
export type PriceTranscript = (
  task: Pick<SummaryTask, "turns" | "texts">,
  signal: AbortSignal,
) => Promise<readonly (readonly PricedEntry[])[]>;

export interface RecursiveOptions {
  /** What prompt and answer may have together, in the model's tokens. */
  readonly windowTokens: number;
  /** What the prompt of one call may have at most, in the model's tokens. */
  readonly maxInputTokens: number;
  /** What of the conversation one call gets at most, in o200k tokens; 0 for as much as fits. */
  readonly chunkTokens?: number;
  /** How many of its tokens the model may count for one o200k token. */
  readonly tokenRatio: number;
  /** Where a long transcript does not hold up its caller; in place by default. */
  readonly transcript?: PriceTranscript | undefined;
}

/** What a request costs besides its texts. */
const frameTokens = 32;
const smallestChunkTokens = 128;
/** What a model may spend on thinking before it writes; limits of the answer include it. */
const thinkingTokens = 2_048;

/**
 * Summarizes chunk by chunk: each call gets the summary so far and what comes next, so that it fits the model's
 * window and the budget of a call. One call where everything fits.
 */
export async function summarizeRecursively(
  call: CallModel,
  task: SummaryTask,
  options: RecursiveOptions,
  count: CountTokens,
  signal: AbortSignal,
): Promise<Summary> {
  const {
    windowTokens,
    maxInputTokens,
    chunkTokens,
    tokenRatio,
    transcript = async ({ turns, texts }) => pricedTranscript(turns, count, texts),
  } = options;
  const outputTokens =
    Math.ceil(task.maxTokens * tokenRatio) + Math.min(thinkingTokens, Math.floor(windowTokens / 8));
  const inputTokens = Math.floor(Math.min(windowTokens - outputTokens, maxInputTokens) / tokenRatio);
  const reader = transcriptReader(await transcript(task, signal), count, task.texts);
  if (reader.done && task.previousSummary === "") throw new EndpointFailure("got nothing to summarize");

  let text = task.previousSummary;
  let cost: SummaryCost = { inputTokens: 0, outputTokens: 0 };
  do {
    signal.throwIfAborted();
    const request = { ...task, previousSummary: text };
    const room = inputTokens - promptTokens(summaryPrompt(request, " "), count) - frameTokens;
    if (room < smallestChunkTokens)
      throw new EndpointFailure(
        `has too small a window or budget for a summary of ${task.maxTokens} tokens and what it is made from`,
      );
    const chunk = reader.next(Math.min(room, chunkTokens || room));
    // What is not there yet is not asked for, or the model would make something up for it.
    const seen = (identifier: string) => text.includes(identifier) || chunk.includes(identifier);
    const mustKeep = reader.done ? task.mustKeep : task.mustKeep.filter(seen);
    const prompt = summaryPrompt({ ...request, mustKeep }, chunk);
    const answer = await call(prompt, outputTokens, signal);
    text = cleanAnswer(answer.text);
    if (text === "") throw new EndpointFailure("answered with nothing");
    cost = {
      inputTokens: cost.inputTokens + (answer.inputTokens ?? promptTokens(prompt, count)),
      outputTokens: cost.outputTokens + (answer.outputTokens ?? count(text)),
    };
  } while (!reader.done);
  return { text, cost };
}

function promptTokens({ system, user }: SummaryPrompt, count: CountTokens): number {
  return count(system) + count(user);
}

/** Without the thoughts that some models write down first, and without what cannot be stored as text. */
function cleanAnswer(text: string): string {
  return Buffer.from(text)
    .toString()
    .replace(/^\s*<think>[\s\S]*?<\/think>/, "")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .trim();
}
