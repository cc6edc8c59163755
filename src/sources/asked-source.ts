import type { SourceState } from "../domain/source.js";
import type { ActiveSource, SourceAnswer } from "./source.js";

/** What came of asking a source. */
export interface AskedSource extends ActiveSource {
  readonly state: SourceState;
  readonly answer: SourceAnswer;
  readonly detail: string;
  readonly elapsedUs: number;
  readonly isCached: boolean;
}
