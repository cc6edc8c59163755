import type { StoredTurn } from "../domain/stored-turn.js";
import { type CountedTokens, plus, sumOf } from "../domain/token-units.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import type { Vocabulary } from "../tokens/vocabulary.js";
import { startsHistory } from "./beginnings.js";
import { decodeMessages } from "./message-codec.js";
import { abandonsCalls, answersSomething, holdsMedia, type IndexEntry, readIndex } from "./message-index.js";
import { messageOverheadTokens } from "./message-overhead.js";
import { countMessages } from "./message-text.js";

/** A stored message as the index describes it. */
export interface MessageFacts extends Pick<IndexEntry, "role" | "flags"> {
  readonly cleanTokens: CountedTokens;
  readonly sentTokens: CountedTokens;
  /** Its bytes in the turn's stored pieces. */
  readonly piece: number;
  readonly start: number;
  readonly end: number;
}

/** What is known of a turn without decoding it. */
export interface TurnFacts {
  readonly messages: readonly MessageFacts[];
  readonly cleanTokens: CountedTokens;
  readonly sentTokens: CountedTokens;
  readonly hasSystem: boolean;
  /** How many messages are not SYSTEM ones. */
  readonly spokenMessages: number;
  /** Whether history may begin with it. */
  readonly startsClean: boolean;
  /** Whether it holds images or files, whose tokens follow from a formula. */
  readonly hasMedia: boolean;
  /** Whether it may have given up calls of the turn before: only the turn's row knows. */
  readonly mayAbandon: boolean;
  /** What each message costs that is not a SYSTEM one. */
  readonly spoken: SpokenCosts;
}

export interface SpokenCosts {
  readonly clean: readonly CountedTokens[];
  /** The same list where no message carries context. */
  readonly sent: readonly CountedTokens[];
  /** The places of the first and the last answer of the model; -1 where there is none. */
  readonly firstAnswer: number;
  readonly lastAnswer: number;
}

const known = new WeakMap<StoredTurn, TurnFacts>();

/** Turns never change, so what is known of one is kept as long as the turn is. */
export function factsOf(turn: StoredTurn): TurnFacts {
  let facts = known.get(turn);
  if (!facts) {
    facts = readFacts(turn.indexes);
    known.set(turn, facts);
  }
  return facts;
}

const counted = new WeakMap<StoredTurn, TurnFacts>();

/** The same with the counts of a vocabulary. Those of o200k are stored; others are made when they are first needed, and kept as long as the turn is. */
export async function countedFacts(
  counter: TokenCounter,
  turn: StoredTurn,
  vocabulary: Vocabulary,
  signal?: AbortSignal,
): Promise<TurnFacts> {
  const facts = factsOf(turn);
  if (vocabulary === "o200k_base") return facts;
  let own = counted.get(turn);
  if (!own) {
    const messages = turn.wires.flatMap((wire) => decodeMessages(wire));
    const counts = await countMessages(counter, messages, signal, vocabulary);
    own = summed(
      facts.messages.map((message, index) => {
        const { parts, context } = counts[index]!;
        const cleanTokens = plus(parts, messageOverheadTokens);
        return { ...message, cleanTokens, sentTokens: plus(cleanTokens, context) };
      }),
    );
    counted.set(turn, own);
  }
  return own;
}

export function readFacts(indexes: readonly string[]): TurnFacts {
  const messages: MessageFacts[] = [];
  indexes.forEach((json, piece) => {
    let start = 0;
    for (const { role, tokens, contextTokens, flags, bytes } of readIndex(json)) {
      const cleanTokens = plus(tokens, messageOverheadTokens);
      const sentTokens = plus(cleanTokens, contextTokens);
      messages.push({ role, cleanTokens, sentTokens, flags, piece, start, end: start + bytes });
      start += bytes;
    }
  });
  return summed(messages);
}

/** The facts of a turn whose first messages are in a summary: after that, any message may come first. */
export function factsFrom(facts: TurnFacts, from: number): TurnFacts {
  return { ...summed(facts.messages.slice(from)), startsClean: true, mayAbandon: facts.mayAbandon };
}

function summed(messages: readonly MessageFacts[]): TurnFacts {
  const spoken = messages.filter((message) => message.role !== "S");
  const clean = spoken.map(({ cleanTokens }) => cleanTokens);
  const carriesContext = spoken.some(({ sentTokens, cleanTokens }) => sentTokens > cleanTokens);
  return {
    messages,
    cleanTokens: sumOf(spoken, (message) => message.cleanTokens),
    sentTokens: sumOf(spoken, (message) => message.sentTokens),
    hasSystem: spoken.length < messages.length,
    spokenMessages: spoken.length,
    hasMedia: spoken.some(holdsMedia),
    startsClean: startsHistory(spoken[0]?.role, spoken[0] !== undefined && answersSomething(spoken[0])),
    // A turn of answers only may give up the rest when it is completed, which no message says.
    mayAbandon: spoken.every(answersSomething) || messages.some(abandonsCalls),
    spoken: {
      clean,
      sent: carriesContext ? spoken.map(({ sentTokens }) => sentTokens) : clean,
      firstAnswer: spoken.findIndex(({ role }) => role === "A"),
      lastAnswer: spoken.findLastIndex(({ role }) => role === "A"),
    },
  };
}
