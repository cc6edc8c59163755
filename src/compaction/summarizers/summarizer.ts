import type { SummaryTask } from "../plan/summary-task.js";

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
