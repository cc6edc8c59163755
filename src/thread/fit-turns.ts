import { sha256 } from "../domain/hash.js";
import { emptyMessage, type Message, MessageRole, type Part, textPart } from "../domain/message.js";
import { fill, type PromptTexts } from "../domain/prompt-texts.js";
import { type CountedTokens, countedTokens, minus, plus } from "../domain/token-units.js";
import { countTokens } from "../tokens/count-tokens.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import type { Vocabulary } from "../tokens/vocabulary.js";
import { splitPlaces } from "./beginnings.js";
import { type ElidableResult, elidableResults, type MessagePlace } from "./elidable-results.js";
import { bytesOf, messagePiece, unansweredResults, withoutContext } from "./history-bytes.js";
import { decodeMessages, encodeMessages } from "./message-codec.js";
import { messageOverheadTokens } from "./message-overhead.js";
import type { ShownMessages } from "./shown-messages.js";
import type { ShownTurn } from "./shown-turn.js";
import { factsOf } from "./turn-facts.js";
import { unansweredTokens } from "./unanswered.js";
import type { CutLimits } from "./window-cut.js";

/** A tool result in whose place a marker stands. */
export interface ElidedResult
  extends Pick<ElidableResult, "partIndex" | "callId" | "tokens" | "markerTokens"> {
  readonly turnId: string;
  readonly messageIndex: number;
}

/** What is left of turns that were too large. */
export interface FittedTurns {
  /** The turns of which something is left, oldest first; only the first one is split. */
  readonly turns: readonly ShownTurn[];
  readonly tokens: CountedTokens;
  /** The first message of the first turn that is kept. */
  readonly splitIndex: number;
  /** The largest first. */
  readonly elided: readonly ElidedResult[];
  /** Stands for the split and for which results were elided. */
  readonly id: string;
  piecesOf(turn: ShownTurn): readonly Buffer[];
  /** What is left of the turn's messages, as a cache sees it. */
  messagesOf(turn: ShownTurn): ShownMessages;
}

/**
 * Makes turns fit that do not, but belong together: each but the first answers what the one before left open, and most often there is
 * only one. First their beginning is left out up to an assistant message; then tool results, the largest first, are replaced by a marker that names
 * their size. Undefined where even that is too much.
 */
export async function fitTurns(
  counter: TokenCounter,
  group: readonly ShownTurn[],
  tokens: CountedTokens,
  messages: number,
  clean: boolean,
): Promise<FittedTurns | undefined> {
  const places = placesOf(group);
  const costs = suffixCosts(group, places, clean);
  // Nothing is open before an assistant message; what is before it can be left out.
  const splits = group.map(({ facts }) => new Set(splitPlaces(facts.messages)));
  const starts = places.flatMap(({ turn, index }, at) => (splits[turn]!.has(index) ? [at] : []));
  const { vocabulary, texts } = group[0]!;
  const costFrom = (at: number) =>
    plus(costs[at]!.tokens, leftOutTokens(texts, places[at]!.index, vocabulary));
  const start = starts.find((at) => costFrom(at) <= tokens && costs[at]!.messages + 1 <= messages);
  if (start !== undefined) return fitted(group, places[start]!, [], costFrom(start), clean);

  const last = starts.at(-1);
  if (last === undefined && !group[0]!.facts.startsClean) return undefined;
  const from = last ?? 0;
  const isSplit = last !== undefined;
  if (costs[from]!.messages + (isSplit ? 1 : 0) > messages) return undefined;
  let total = isSplit ? costFrom(from) : costs[from]!.tokens;
  const elided: ElidableResult[] = [];
  for (const result of await elidableResults(counter, group, places.slice(from))) {
    if (total <= tokens) break;
    total = minus(total, minus(result.tokens, result.markerTokens));
    elided.push(result);
  }
  return total <= tokens
    ? fitted(group, { ...places[from]!, index: isSplit ? places[from]!.index : 0 }, elided, total, clean)
    : undefined;
}

/** The same cut again, from what the receipt says of it: where the first turn was split, and how many results were elided. */
export async function refitTurns(
  counter: TokenCounter,
  turns: readonly ShownTurn[],
  splitIndex: number,
  elidedCount: number,
  clean: boolean,
): Promise<FittedTurns> {
  const places = placesOf(turns).filter(({ turn, index }) => turn > 0 || index >= splitIndex);
  const results = elidedCount === 0 ? [] : await elidableResults(counter, turns, places);
  return fitted(
    turns,
    { turn: 0, index: splitIndex },
    results.slice(0, elidedCount),
    countedTokens(0),
    clean,
  );
}

function fitted(
  group: readonly ShownTurn[],
  from: Pick<MessagePlace, "turn" | "index">,
  elided: readonly ElidableResult[],
  tokens: CountedTokens,
  clean: boolean,
): FittedTurns {
  const turns = group.slice(from.turn);
  const positions = elided.map(
    ({ place, partIndex }) => `${place.turn - from.turn}.${place.index}.${partIndex}`,
  );
  const which =
    elided.length > 0 ? `-${sha256(Buffer.from(positions.join())).toString("hex").slice(0, 8)}` : "";
  return {
    turns,
    tokens,
    splitIndex: from.index,
    elided: elided.map(({ place, ...result }) => {
      const { stored, from: firstShown } = group[place.turn]!;
      return { ...result, turnId: stored.turnId, messageIndex: firstShown + place.index };
    }),
    id: `${from.index}-${elided.length}${which}`,
    piecesOf: (turn) => {
      const at = group.indexOf(turn);
      return turnPiecesOf(turn, at === from.turn ? from.index : 0, resultsIn(elided, at), clean);
    },
    messagesOf: (turn) => {
      const at = group.indexOf(turn);
      return turnMessagesOf(turn, at === from.turn ? from.index : 0, resultsIn(elided, at), clean);
    },
  };
}

/** Those of one turn, by the message that they are in. */
function resultsIn(
  elided: readonly ElidableResult[],
  turn: number,
): ReadonlyMap<number, readonly ElidableResult[]> {
  const found = new Map<number, ElidableResult[]>();
  for (const result of elided) {
    if (result.place.turn !== turn) continue;
    const own = found.get(result.place.index);
    if (own) own.push(result);
    else found.set(result.place.index, [result]);
  }
  return found;
}

function placesOf(turns: readonly ShownTurn[]): MessagePlace[] {
  return turns.flatMap(({ facts }, turn) =>
    facts.messages.flatMap((message, index) =>
      message.role === "S" ? [] : [{ turn, index, facts: message }],
    ),
  );
}

/** What the messages from each place on cost, with the made-up results of their turns. */
function suffixCosts(group: readonly ShownTurn[], places: readonly MessagePlace[], clean: boolean) {
  const costs: CutLimits[] = new Array(places.length);
  let tokens = countedTokens(0);
  let messages = 0;
  for (let at = places.length - 1; at >= 0; at--) {
    const { turn, facts } = places[at]!;
    if (places[at + 1]?.turn !== turn) {
      tokens = plus(tokens, unansweredTokens(group[turn]!));
      messages += group[turn]!.unanswered.length > 0 ? 1 : 0;
    }
    tokens = plus(tokens, clean ? facts.cleanTokens : facts.sentTokens);
    messages++;
    costs[at] = { tokens, messages };
  }
  return costs;
}

function turnPiecesOf(
  turn: ShownTurn,
  from: number,
  elided: ReadonlyMap<number, readonly ElidableResult[]>,
  clean: boolean,
): Buffer[] {
  const pieces = from > 0 ? [leftOut(turn, from)] : [];
  for (const [index, facts] of turn.facts.messages.entries()) {
    if (index < from || facts.role === "S") continue;
    const results = elided.get(index);
    if (!results) {
      pieces.push(messagePiece(turn, facts, clean));
      continue;
    }
    const messages = decodeMessages(bytesOf(turn, facts)).map((message) =>
      withMarkers(clean ? withoutContext(message) : message, results),
    );
    pieces.push(encodeMessages(messages).wire);
  }
  if (turn.unanswered.length > 0) pieces.push(unansweredResults(turn));
  return pieces;
}

/** What the messages of `turnPiecesOf` say of their tokens, without decoding one. */
function turnMessagesOf(
  turn: ShownTurn,
  from: number,
  elided: ReadonlyMap<number, readonly ElidableResult[]>,
  clean: boolean,
): ShownMessages {
  const { stored, texts, unanswered } = turn;
  const o200kTokens = from > 0 ? [leftOutTokens(texts, from, "o200k_base")] : [];
  const answers: number[] = [];
  // Messages hold their o200k counts, whatever the turn is counted with.
  const counted = factsOf(stored).messages.slice(turn.from);
  for (const [index, { role, cleanTokens, sentTokens }] of counted.entries()) {
    if (index < from || role === "S") continue;
    if (role === "A") answers.push(o200kTokens.length);
    const whole = clean ? cleanTokens : sentTokens;
    o200kTokens.push(
      (elided.get(index) ?? []).reduce((sum, result) => minus(sum, savedO200k(result)), whole),
    );
  }
  if (unanswered.length > 0)
    o200kTokens.push(unansweredTokens({ unanswered, texts, vocabulary: "o200k_base" }));
  const { turnId } = stored;
  return { turnId, o200kTokens, firstAnswer: answers[0] ?? -1, lastAnswer: answers.at(-1) ?? -1 };
}

/** By how much a marker is smaller than its result. */
function savedO200k({ marker, o200kTokens }: ElidableResult): CountedTokens {
  return minus(o200kTokens, countTokens(marker, "o200k_base"));
}

function withMarkers(message: Message, elided: readonly ElidableResult[]): Message {
  const parts: Part[] = [...message.parts];
  let { o200kTokens } = message;
  for (const result of elided) {
    const { partIndex, marker } = result;
    const { content } = parts[partIndex]!;
    if (content?.$case !== "toolResult") continue;
    parts[partIndex] = {
      content: { $case: "toolResult", value: { ...content.value, content: [textPart(marker)] } },
    };
    o200kTokens -= savedO200k(result);
  }
  return { ...message, parts, o200kTokens };
}

function leftOutText(texts: PromptTexts, messages: number): string {
  return fill(texts["left-out-messages"], { count: messages });
}

function leftOutTokens(texts: PromptTexts, messages: number, vocabulary: Vocabulary): CountedTokens {
  return plus(countTokens(leftOutText(texts, messages), vocabulary), messageOverheadTokens);
}

/** Stands for the beginning of a turn that was left out; a history begins with a user's message. */
function leftOut(turn: ShownTurn, messages: number): Buffer {
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
