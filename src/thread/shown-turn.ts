import type { PromptTexts } from "../domain/prompt-texts.js";
import type { StoredTurn } from "../domain/stored-turn.js";
import { type CountedTokens, plus } from "../domain/token-units.js";
import type { Vocabulary } from "../tokens/vocabulary.js";
import { factsFrom, readFacts, type TurnFacts } from "./turn-facts.js";
import { unansweredTokens } from "./unanswered.js";

/** A turn as a context shows it. */
export interface ShownTurn {
  readonly stored: StoredTurn;
  /** Of its messages from `from` on. */
  readonly facts: TurnFacts;
  /** The first message that is shown: above 0 where those before it are in a summary. */
  readonly from: number;
  readonly tokens: CountedTokens;
  /** What its tokens are counted with. */
  readonly vocabulary: Vocabulary;
  /** Calls that nobody will answer, for which a result is made up so that the history stays valid. */
  readonly unanswered: readonly string[];
  readonly isActive: boolean;
  /** The words for what is left out of it or made up. */
  readonly texts: PromptTexts;
}

/** Where the part of a thread begins that a summary does not stand for. */
export interface KeptPlace {
  readonly firstKeptTurnId: string;
  readonly firstKeptMessageIndex: number;
}

/** How turns are shown: in which words, counted with what, with or without the context that was sent. */
export interface ShownHow extends Pick<ShownTurn, "vocabulary" | "texts"> {
  readonly clean: boolean;
}

/** A turn, given with the facts of all its messages, as it is shown after a summary, if there is one. */
export function shownTurn(
  stored: StoredTurn,
  whole: TurnFacts,
  summary: KeptPlace | undefined,
  { vocabulary, texts, clean }: ShownHow,
  unanswered: readonly string[] = [],
  isActive = false,
): ShownTurn {
  const from = keptFrom(stored.turnId, summary);
  const facts = from > 0 ? factsFrom(whole, from) : whole;
  const made = unansweredTokens({ unanswered, texts, vocabulary });
  const tokens = plus(clean ? facts.cleanTokens : facts.sentTokens, made);
  return { stored, facts, from, tokens, vocabulary, unanswered, isActive, texts };
}

/** The stored pieces of a turn after a summary, which may stand for its first messages. */
export function keptWires(stored: StoredTurn, summary: KeptPlace | undefined): readonly Buffer[] {
  const from = keptFrom(stored.turnId, summary);
  if (from === 0) return stored.wires;
  const first = readFacts(stored.indexes).messages[from];
  if (!first) return [];
  const [wire, ...rest] = stored.wires.slice(first.piece);
  return [wire!.subarray(first.start), ...rest];
}

/** The first message of a turn that no summary stands for. */
function keptFrom(turnId: string, summary: KeptPlace | undefined): number {
  return summary?.firstKeptTurnId === turnId ? summary.firstKeptMessageIndex : 0;
}
