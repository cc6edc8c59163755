import type { Message } from "../domain/message.js";
import type { PromptTexts } from "../domain/prompt-texts.js";

/** One turn of what is to be summarized. */
export interface FoldedTurn {
  readonly turnId: string;
  readonly depth: number;
  readonly createdMs: number;
  /** Without system messages; of a turn that was split, the beginning only. */
  readonly messages: readonly Message[];
  /** What the messages cost, in o200k tokens, without the context that was sent with them. */
  readonly tokens: number;
}

/** What a summary is made from. */
export interface SummaryTask {
  /** The summary that the thread already begins with; empty where there is none. It is summarized with the rest. */
  readonly previousSummary: string;
  /** Oldest first. */
  readonly turns: readonly FoldedTurn[];
  /** What a person asks for ("keep the addresses"); empty for nothing. */
  readonly instructions: string;
  /** The most that the summary may cost, in o200k tokens. */
  readonly maxTokens: number;
  /** Identifiers of open work: they must be in the summary as they are. */
  readonly mustKeep: readonly string[];
  /** The words with which a model is asked; the default ones where nobody says. */
  readonly texts?: PromptTexts;
}

/** What a summarizer spent. */
export interface SummaryCost {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface Summary {
  readonly text: string;
  readonly cost: SummaryCost;
}

/**
 * Makes summaries.
 * - Throws where it cannot; the message says why and holds nothing of the conversation.
 * - Stops when the signal aborts.
 */
export interface Summarizer {
  /** As settings name it: "extractive", "openai", "anthropic". */
  readonly name: string;
  /** Whose model makes the summary, for the record; empty for the embedded one. */
  readonly provider: string;
  readonly model: string;
  summarize(task: SummaryTask, signal: AbortSignal): Promise<Summary>;
}

/** Counts o200k tokens of short texts. Given, so that this room needs no tables. */
export type CountTokens = (text: string) => number;
