import { messageOverheadTokens } from "../budget/token-scale.js";
import { sha256 } from "../domain/hash.js";
import { type Message, MessageRole, type Part } from "../domain/message.js";
import { fill, type PromptTexts } from "../domain/prompt-texts.js";
import { decodeMessages, encodeMessages } from "../ledger/message-codec.js";
import { countTokens } from "../tokens/count-tokens.js";
import type { Vocabulary } from "../tokens/vocabulary.js";
import {
  bytesOf,
  emptyMessage,
  messagePiece,
  textPart,
  unansweredResults,
  unansweredTokens,
  withoutContext,
} from "./history-bytes.js";
import type { WindowTurn } from "./thread-window.js";
import type { MessageFacts } from "./turn-facts.js";

/** What is left of turns that were too large. */
export interface FittedTurns {
  /** The turns of which something is left, oldest first; only the first one is split. */
  readonly turns: readonly WindowTurn[];
  readonly tokens: number;
  /** The first message of the first turn that is kept. */
  readonly splitIndex: number;
  /** How many tool results were replaced by a marker. */
  readonly elided: number;
  /** Stands for the split and for which results were elided. */
  readonly id: string;
  piecesOf(turn: WindowTurn): readonly Buffer[];
}

/** A message of one of the turns. */
interface Place {
  readonly turn: number;
  readonly index: number;
  readonly facts: MessageFacts;
}

/**
 * Makes turns fit that do not, but belong together: each but the first answers what the one before left open, and most often there is
 * only one. First their beginning is left out up to an assistant message; then tool results, the largest first, are replaced by a marker that names
 * their size. Undefined where even that is too much.
 */
export function fitTurns(
  group: readonly WindowTurn[],
  tokens: number,
  messages: number,
  clean: boolean,
): FittedTurns | undefined {
  const places = placesOf(group);
  const costs = suffixCosts(group, places, clean);
  // Nothing is open before an assistant message; what is before it can be left out.
  const starts = places.flatMap(({ facts, index, turn }, at) =>
    facts.role === "A" && isAfterOther(places[at - 1], turn, index) ? [at] : [],
  );
  const { vocabulary, texts } = group[0]!;
  const costFrom = (at: number) => costs[at]!.tokens + leftOutTokens(texts, places[at]!.index, vocabulary);
  const start = starts.find((at) => costFrom(at) <= tokens && costs[at]!.messages + 1 <= messages);
  if (start !== undefined) return fitted(group, places[start]!, [], costFrom(start), clean);

  const last = starts.at(-1);
  if (last === undefined && !group[0]!.facts.startsClean) return undefined;
  const from = last ?? 0;
  const isSplit = last !== undefined;
  if (costs[from]!.messages + (isSplit ? 1 : 0) > messages) return undefined;
  let total = isSplit ? costFrom(from) : costs[from]!.tokens;
  const elided: Place[] = [];
  for (const { place, saved } of largestResults(group, places.slice(from))) {
    if (total <= tokens) break;
    total -= saved;
    elided.push(place);
  }
  return total <= tokens
    ? fitted(group, { ...places[from]!, index: isSplit ? places[from]!.index : 0 }, elided, total, clean)
    : undefined;
}

/** The same cut again, from what the receipt says of it: where the first turn was split, and how many results were elided. */
export function refitTurns(
  turns: readonly WindowTurn[],
  splitIndex: number,
  elidedCount: number,
  clean: boolean,
): Buffer[] {
  const places = placesOf(turns).filter(({ turn, index }) => turn > 0 || index >= splitIndex);
  const elided = largestResults(turns, places)
    .slice(0, elidedCount)
    .map((entry) => entry.place);
  return turns.flatMap((turn, at) =>
    turnPiecesOf(turn, at === 0 ? splitIndex : 0, indexesIn(elided, at), clean),
  );
}

function fitted(
  group: readonly WindowTurn[],
  from: Pick<Place, "turn" | "index">,
  elided: readonly Place[],
  tokens: number,
  clean: boolean,
): FittedTurns {
  const turns = group.slice(from.turn);
  const positions = elided.map(({ turn, index }) => `${turn - from.turn}.${index}`);
  const which =
    elided.length > 0 ? `-${sha256(Buffer.from(positions.join())).toString("hex").slice(0, 8)}` : "";
  return {
    turns,
    tokens,
    splitIndex: from.index,
    elided: elided.length,
    id: `${from.index}-${elided.length}${which}`,
    piecesOf: (turn) => {
      const at = group.indexOf(turn);
      return turnPiecesOf(turn, at === from.turn ? from.index : 0, indexesIn(elided, at), clean);
    },
  };
}

function indexesIn(elided: readonly Place[], turn: number): ReadonlySet<number> {
  return new Set(elided.filter((place) => place.turn === turn).map((place) => place.index));
}

function placesOf(turns: readonly WindowTurn[]): Place[] {
  return turns.flatMap(({ facts }, turn) =>
    facts.messages.flatMap((message, index) =>
      message.role === "S" ? [] : [{ turn, index, facts: message }],
    ),
  );
}

/** Whether a message follows one of its own turn that is not an assistant's. */
function isAfterOther(before: Place | undefined, turn: number, index: number): boolean {
  return index > 0 && before?.turn === turn && before.facts.role !== "A";
}

/** What the messages from each place on cost, with the made-up results of their turns. */
function suffixCosts(group: readonly WindowTurn[], places: readonly Place[], clean: boolean) {
  const costs: { readonly tokens: number; readonly messages: number }[] = new Array(places.length);
  let tokens = 0;
  let messages = 0;
  for (let at = places.length - 1; at >= 0; at--) {
    const { turn, facts } = places[at]!;
    if (places[at + 1]?.turn !== turn) {
      tokens += unansweredTokens(group[turn]!);
      messages += group[turn]!.unanswered.length > 0 ? 1 : 0;
    }
    tokens += clean ? facts.cleanTokens : facts.sentTokens;
    messages++;
    costs[at] = { tokens, messages };
  }
  return costs;
}

/** Tool messages, the largest first, for which a marker is smaller; and how much smaller. */
function largestResults(
  turns: readonly WindowTurn[],
  places: readonly Place[],
): { readonly place: Place; readonly saved: number }[] {
  return places
    .filter(({ facts }) => facts.role === "T")
    .sort((a, b) => b.facts.cleanTokens - a.facts.cleanTokens || a.turn - b.turn || a.index - b.index)
    .map((place) => {
      const turn = turns[place.turn]!;
      const [message] = decodeMessages(bytesOf(turn, place.facts));
      const marked = markedTokens(turn.texts, message!, place.facts, turn.vocabulary);
      return { place, saved: place.facts.cleanTokens - messageOverheadTokens - marked };
    })
    .filter(({ saved }) => saved > 0);
}

function turnPiecesOf(turn: WindowTurn, from: number, elided: ReadonlySet<number>, clean: boolean): Buffer[] {
  const pieces = from > 0 ? [leftOut(turn, from)] : [];
  for (const [index, facts] of turn.facts.messages.entries()) {
    if (index < from || facts.role === "S") continue;
    if (!elided.has(index)) {
      pieces.push(messagePiece(turn, facts, clean));
      continue;
    }
    const messages = decodeMessages(bytesOf(turn, facts)).map((message) =>
      withMarkers(turn.texts, clean ? withoutContext(message) : message, facts),
    );
    pieces.push(encodeMessages(messages).wire);
  }
  if (turn.unanswered.length > 0) pieces.push(unansweredResults(turn));
  return pieces;
}

function markerText(texts: PromptTexts, facts: MessageFacts): string {
  return fill(texts["left-out-result"], { tokens: facts.cleanTokens - messageOverheadTokens });
}

function markedTokens(
  texts: PromptTexts,
  message: Message,
  facts: MessageFacts,
  vocabulary: Vocabulary,
): number {
  return message.parts.length * countTokens(markerText(texts, facts), vocabulary);
}

function withMarkers(texts: PromptTexts, message: Message, facts: MessageFacts): Message {
  const content = [textPart(markerText(texts, facts))];
  const parts = message.parts.map((part): Part => {
    if (part.content?.$case !== "toolResult") return part;
    return { content: { $case: "toolResult", value: { ...part.content.value, content } } };
  });
  return { ...message, parts, o200kTokens: markedTokens(texts, message, facts, "o200k_base") };
}

function leftOutText(texts: PromptTexts, messages: number): string {
  return fill(texts["left-out-messages"], { count: messages });
}

function leftOutTokens(texts: PromptTexts, messages: number, vocabulary: Vocabulary): number {
  return countTokens(leftOutText(texts, messages), vocabulary) + messageOverheadTokens;
}

/** Stands for the beginning of a turn that was left out; a history begins with a user's message. */
function leftOut(turn: WindowTurn, messages: number): Buffer {
  const text = leftOutText(turn.texts, messages);
  const o200kTokens = countTokens(text, "o200k_base");
  return encodeMessages([
    {
      ...emptyMessage,
      turnId: turn.stored.turnId,
      role: MessageRole.USER,
      parts: [textPart(text)],
      o200kTokens,
    },
  ]).wire;
}
