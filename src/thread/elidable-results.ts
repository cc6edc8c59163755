import type { Message } from "../domain/message.js";
import { fill } from "../domain/prompt-texts.js";
import { type CountedTokens, countedTokens, minus } from "../domain/token-units.js";
import { countTokens } from "../tokens/count-tokens.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import type { Vocabulary } from "../tokens/vocabulary.js";
import { bytesOf } from "./history-bytes.js";
import { decodeMessages } from "./message-codec.js";
import { messageOverheadTokens } from "./message-overhead.js";
import { countMessages } from "./message-text.js";
import type { ShownTurn } from "./shown-turn.js";
import type { MessageFacts } from "./turn-facts.js";

/** A message of one of several turns. */
export interface MessagePlace {
  readonly turn: number;
  /** Among the messages of the turn that are shown. */
  readonly index: number;
  readonly facts: MessageFacts;
}

/** A tool result for which a marker would be smaller. */
export interface ElidableResult {
  readonly place: MessagePlace;
  readonly partIndex: number;
  readonly callId: string;
  readonly marker: string;
  /** What it and its marker cost, in the vocabulary that its turn is counted with. */
  readonly tokens: CountedTokens;
  readonly markerTokens: CountedTokens;
  readonly o200kTokens: CountedTokens;
}

type ResultSize = Pick<ElidableResult, "callId" | "tokens" | "o200kTokens">;

/** The tool results of messages that a marker would make smaller, the largest first. */
export async function elidableResults(
  counter: TokenCounter,
  turns: readonly ShownTurn[],
  places: readonly MessagePlace[],
): Promise<ElidableResult[]> {
  const found: ElidableResult[] = [];
  for (const place of places) {
    if (place.facts.role !== "T") continue;
    const turn = turns[place.turn]!;
    for (const [partIndex, size] of (await sizesOf(counter, turn, place.facts)).entries()) {
      const marker = fill(turn.texts["left-out-result"], { tokens: size.tokens });
      const markerTokens = countTokens(marker, turn.vocabulary);
      if (markerTokens < size.tokens) found.push({ ...size, place, partIndex, marker, markerTokens });
    }
  }
  return found.sort((a, b) => b.tokens - a.tokens || inThread(a, b));
}

function inThread(a: ElidableResult, b: ElidableResult): number {
  return a.place.turn - b.place.turn || a.place.index - b.place.index || a.partIndex - b.partIndex;
}

const known = new WeakMap<MessageFacts, readonly ResultSize[]>();

/** What each result of a message costs; kept as long as the turn is. The message's own count is known, so one result alone is not counted again. */
async function sizesOf(
  counter: TokenCounter,
  turn: ShownTurn,
  facts: MessageFacts,
): Promise<readonly ResultSize[]> {
  const kept = known.get(facts);
  if (kept) return kept;
  const message = decodeMessages(bytesOf(turn, facts))[0]!;
  const isOne = message.parts.length === 1;
  const tokens = isOne
    ? [minus(facts.cleanTokens, messageOverheadTokens)]
    : await countParts(counter, message, turn.vocabulary);
  const o200k = isOne
    ? [countedTokens(message.o200kTokens)]
    : turn.vocabulary === "o200k_base"
      ? tokens
      : await countParts(counter, message, "o200k_base");
  const sizes = message.parts.map(({ content }, at) => ({
    callId: content?.$case === "toolResult" ? content.value.callId : "",
    tokens: tokens[at]!,
    o200kTokens: o200k[at]!,
  }));
  known.set(facts, sizes);
  return sizes;
}

async function countParts(
  counter: TokenCounter,
  message: Message,
  vocabulary: Vocabulary,
): Promise<readonly CountedTokens[]> {
  const single = message.parts.map((part) => ({ ...message, parts: [part], contextParts: [] }));
  return (await countMessages(counter, single, undefined, vocabulary)).map(({ parts }) => parts);
}
