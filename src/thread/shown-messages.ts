import type { CountedTokens } from "../domain/token-units.js";
import type { ShownTurn } from "./shown-turn.js";
import { unansweredTokens } from "./unanswered.js";

/** The messages of a turn that are shown, or a summary, as a cache sees them. */
export interface ShownMessages {
  readonly turnId: string;
  readonly o200kTokens: readonly CountedTokens[];
  /** The places of the first and the last answer of the model among them; -1 where there is none. */
  readonly firstAnswer: number;
  readonly lastAnswer: number;
}

/** Those of a turn of which nothing was left out. */
export function shownMessages(turn: ShownTurn, clean: boolean): ShownMessages {
  const { firstAnswer, lastAnswer, clean: cleanTokens, sent } = turn.facts.spoken;
  const spoken = clean ? cleanTokens : sent;
  const o200kTokens = turn.unanswered.length > 0 ? [...spoken, unansweredTokens(turn)] : spoken;
  return { turnId: turn.stored.turnId, o200kTokens, firstAnswer, lastAnswer };
}
