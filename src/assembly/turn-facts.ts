import { messageOverheadTokens } from "../budget/token-scale.js";
import { abandonsFlag, decodeMessages } from "../ledger/message-codec.js";
import { countMessages } from "../ledger/message-text.js";
import type { StoredTurnMessages } from "../storage/ledger/thread-store.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import type { Vocabulary } from "../tokens/vocabulary.js";

/** A stored message as the index describes it. */
export interface MessageFacts {
  readonly role: "S" | "U" | "A" | "T" | "?";
  readonly cleanTokens: number;
  readonly sentTokens: number;
  readonly flags: number;
  /** Its bytes in the turn's stored pieces. */
  readonly piece: number;
  readonly start: number;
  readonly end: number;
}

/** What the assembly knows of a finished turn without decoding it. */
export interface TurnFacts {
  readonly messages: readonly MessageFacts[];
  readonly cleanTokens: number;
  readonly sentTokens: number;
  readonly hasSystem: boolean;
  /** How many messages are not SYSTEM ones. */
  readonly spokenMessages: number;
  /** Whether history may begin with it: its first message is a user's, and answers nothing of the turn before. */
  readonly startsClean: boolean;
  /** Whether it holds images or files, whose tokens are not counted. */
  readonly hasUncounted: boolean;
  /** Whether it may have given up calls of the turn before: only the turn's row knows. */
  readonly mayAbandon: boolean;
}

const answers = 2 | 8;
const uncounted = 64 | 128;
const known = new WeakMap<StoredTurnMessages, TurnFacts>();

/** Turns never change, so what is known of one is kept as long as the turn is. */
export function factsOf(turn: StoredTurnMessages): TurnFacts {
  let facts = known.get(turn);
  if (!facts) {
    facts = readFacts(turn.indexes);
    known.set(turn, facts);
  }
  return facts;
}

const counted = new WeakMap<StoredTurnMessages, TurnFacts>();

/** The same with the counts of a vocabulary. Those of o200k are stored; others are made when they are first needed, and kept as long as the turn is. */
export async function countedFacts(
  counter: TokenCounter,
  turn: StoredTurnMessages,
  vocabulary: Vocabulary,
  signal?: AbortSignal,
): Promise<TurnFacts> {
  const facts = factsOf(turn);
  if (vocabulary === "o200k_base") return facts;
  let own = counted.get(turn);
  if (!own) {
    const messages = turn.wires.flatMap((wire) => decodeMessages(wire));
    const counts = await countMessages(counter, messages, signal, vocabulary);
    own = summarize(
      facts.messages.map((message, index) => {
        const { parts, context } = counts[index]!;
        const cleanTokens = parts + messageOverheadTokens;
        return { ...message, cleanTokens, sentTokens: cleanTokens + context };
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
    for (const [role, tokens, contextTokens, flags, bytes] of JSON.parse(json) as [
      MessageFacts["role"],
      number,
      number,
      number,
      number,
    ][]) {
      const cleanTokens = tokens + messageOverheadTokens;
      messages.push({
        role,
        cleanTokens,
        sentTokens: cleanTokens + contextTokens,
        flags,
        piece,
        start,
        end: start + bytes,
      });
      start += bytes;
    }
  });
  return summarize(messages);
}

/** The facts of a turn whose first messages are in a summary: after that, any message may come first. */
export function factsFrom(facts: TurnFacts, from: number): TurnFacts {
  return { ...summarize(facts.messages.slice(from)), startsClean: true, mayAbandon: facts.mayAbandon };
}

function summarize(messages: readonly MessageFacts[]): TurnFacts {
  const spoken = messages.filter((message) => message.role !== "S");
  const first = spoken[0];
  return {
    messages,
    cleanTokens: spoken.reduce((sum, message) => sum + message.cleanTokens, 0),
    sentTokens: spoken.reduce((sum, message) => sum + message.sentTokens, 0),
    hasSystem: spoken.length < messages.length,
    spokenMessages: spoken.length,
    hasUncounted: spoken.some((message) => message.flags & uncounted),
    startsClean: first?.role === "U" && (first.flags & answers) === 0,
    // A turn of answers only may give up the rest when it is completed, which no message says.
    mayAbandon:
      spoken.every((message) => message.flags & answers) ||
      messages.some((message) => message.flags & abandonsFlag),
  };
}
