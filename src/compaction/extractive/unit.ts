import type { Group } from "../plan/summary-words.js";

/** The smallest piece that a summary takes or leaves: a sentence, or a tool call with its result in one line. */
export interface Unit {
  readonly text: string;
  readonly group: Group;
  /** Who says it, where that is written; empty where the group says it. */
  readonly speaker: string;
  /** Units of one message, or of one line of the summary before, have one number. */
  readonly line: number;
  /** The turn's place; -1 for the summary before. */
  readonly turn: number;
  /** The day it was said on, YYYY-MM-DD, where its words need it ("yesterday"); empty otherwise. */
  readonly day: string;
  /** What its terms count, by who said it. */
  readonly weight: number;
  /** What its words and place add. */
  readonly bonus: number;
}
