import type { Message } from "../../domain/message.js";
import type { PromptTexts } from "../../domain/prompt-texts.js";
import type { SummaryWords } from "./summary-words.js";

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
  /** The words that it was written with; the default ones where nobody says. */
  readonly previousWords?: SummaryWords;
  /** Oldest first. */
  readonly turns: readonly FoldedTurn[];
  /** What stays in the context beside the summary: what it says need not be said again. */
  readonly kept?: readonly FoldedTurn[];
  /** What a person asks for ("keep the addresses"); empty for nothing. */
  readonly instructions: string;
  /** The most that the summary may cost, in o200k tokens. */
  readonly maxTokens: number;
  /** Identifiers of open work: they must be in the summary as they are. */
  readonly mustKeep: readonly string[];
  /** The words with which a model is asked, or a summary is written; the default ones where nobody says. */
  readonly texts?: PromptTexts;
}

/** Counts o200k tokens of short texts. Given, so that this room needs no tables. */
export type CountTokens = (text: string) => number;
