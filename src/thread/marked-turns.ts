import { sha256 } from "../domain/hash.js";
import { ElidedContent, emptyMessage, type Message, MessageRole, textPart } from "../domain/message.js";
import { fill } from "../domain/prompt-texts.js";
import { type CountedTokens, countedTokens, minus, plus, sumOf } from "../domain/token-units.js";
import { countTokens } from "../tokens/count-tokens.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { elidableParts, type MessagePlace } from "./elidable-parts.js";
import { type Fit, type FitRule, fitId, type MarksEnd } from "./fit.js";
import { bytesOf, messagePiece, turnPieces, unansweredResults, withoutContext } from "./history-bytes.js";
import {
  type Caps,
  type ElidedPart,
  type MarkedMessage,
  markMessage,
  mayMark,
  shortName,
} from "./mark-message.js";
import { decodeMessages, encodeMessages } from "./message-codec.js";
import { MessageFlag } from "./message-index.js";
import { messageOverheadTokens } from "./message-overhead.js";
import type { ShownMessages } from "./shown-messages.js";
import type { ShownTurn } from "./shown-turn.js";
import { factsOf, type MessageFacts } from "./turn-facts.js";
import { unansweredTokens } from "./unanswered.js";

/** A part of history that is not shown as it was. */
export interface Elided extends ElidedPart {
  readonly turnId: string;
  /** In the whole turn. */
  readonly messageIndex: number;
}

/** Turns as a rule shows them. */
export interface FittedTurns {
  /** The turns of which something is left, oldest first; only the first one is split. */
  readonly turns: readonly ShownTurn[];
  readonly tokens: CountedTokens;
  readonly messages: number;
  readonly fit: Fit;
  /** The fit as a part of `cut_id`. */
  readonly id: string;
  /** The largest first. */
  readonly elided: readonly Elided[];
  piecesOf(turn: ShownTurn): readonly Buffer[];
  /** What is left of the turn's messages, as a cache sees it. */
  messagesOf(turn: ShownTurn): ShownMessages;
}

/** The messages of turns that history shows, oldest first. */
export function placesOf(turns: readonly ShownTurn[]): MessagePlace[] {
  return turns.flatMap(({ facts }, turn) =>
    facts.messages.flatMap((message, index) =>
      message.role === "S" ? [] : [{ turn, index, facts: message }],
    ),
  );
}

/** Whether a message stands before the end of the marks. */
export function isBefore(turn: ShownTurn, index: number, { depth, messageIndex }: MarksEnd): boolean {
  const own = turn.stored.depth;
  return own < depth || (own === depth && turn.from + index < messageIndex);
}

/** What a rule makes of turns, oldest first. */
export async function markTurns(
  counter: TokenCounter,
  turns: readonly ShownTurn[],
  rule: FitRule,
  clean: boolean,
): Promise<FittedTurns> {
  const places = placesOf(turns).filter(({ turn, index }) => turn > 0 || index >= rule.splitIndex);
  const capsOf = await makeCaps(counter, turns, places, rule);
  const marked = new Map<MessageFacts, MarkedMessage>();
  const start = rule.splitIndex > 0 ? await startOf(counter, turns[0]!, rule) : undefined;
  const elided: Elided[] = start ? [...start.elided] : [];
  const changed: Buffer[] = start ? [start.wire] : [];
  let tokens = plus(start?.tokens ?? countedTokens(0), sumOf(turns, unansweredTokens));
  let messages = (start ? 1 : 0) + turns.filter(({ unanswered }) => unanswered.length > 0).length;
  for (const place of places) {
    const turn = turns[place.turn]!;
    const { facts } = place;
    const own = isBefore(turn, place.index, rule.end)
      ? await markedMessage(counter, turn, place, capsOf(place), clean)
      : undefined;
    if (!own) {
      tokens = plus(tokens, clean ? facts.cleanTokens : facts.sentTokens);
      messages++;
      continue;
    }
    marked.set(facts, own);
    changed.push(wireOf(own));
    if (own.message.parts.length > 0) {
      tokens = plus(plus(tokens, plus(own.tokens, messageOverheadTokens)), own.contextTokens);
      messages++;
    }
    const at = { turnId: turn.stored.turnId, messageIndex: turn.from + place.index };
    for (const part of own.elided) elided.push({ ...part, ...at });
  }
  const fit: Fit = {
    ...rule,
    savedTokens: minus(
      sumOf(turns, (turn) => turn.tokens),
      tokens,
    ),
    marksHash: sha256(...changed, Buffer.alloc(0))
      .toString("hex")
      .slice(0, 12),
  };
  return {
    turns,
    tokens,
    messages,
    fit,
    id: fitId(fit),
    elided: elided.sort((a, b) => b.tokens - a.tokens),
    piecesOf: (turn) => piecesOf(turn, turn === turns[0] ? start : undefined, rule, marked, clean),
    messagesOf: (turn) => messagesOf(turn, turn === turns[0] ? start : undefined, rule, marked, clean),
  };
}

const wires = new WeakMap<MarkedMessage, Buffer>();

function wireOf(marked: MarkedMessage): Buffer {
  let wire = wires.get(marked);
  if (!wire) {
    wire = marked.message.parts.length > 0 ? encodeMessages([marked.message]).wire : Buffer.alloc(0);
    wires.set(marked, wire);
  }
  return wire;
}

/** The caps for each message: they are the same but for the thinking of a loop that goes on. */
async function makeCaps(
  counter: TokenCounter,
  turns: readonly ShownTurn[],
  places: readonly MessagePlace[],
  rule: FitRule,
): Promise<(place: MessagePlace) => Caps> {
  const last = turns.at(-1)!;
  const goesOn = last.isActive || last.unanswered.length > 0;
  const loopFrom = turns.findLastIndex(({ facts }) => facts.startsClean);
  const open = new Set(last.unanswered);
  const leftOut =
    rule.leftOutCalls > 0
      ? new Set((await answeredCalls(counter, turns, places, rule.end)).slice(0, rule.leftOutCalls))
      : new Set<string>();
  const { callTokens, textTokens } = rule;
  const names = new Map<string, string>();
  return (place) => ({
    callTokens,
    textTokens,
    leftOut,
    open,
    keepsThinking: goesOn && place.turn >= loopFrom,
    callName: (callId) => callNameBefore(turns, places, place, callId, names),
  });
}

/** The calls that are answered, the oldest first, each once. */
export async function answeredCalls(
  counter: TokenCounter,
  turns: readonly ShownTurn[],
  places: readonly MessagePlace[],
  end: MarksEnd,
): Promise<string[]> {
  const open = new Set(turns.at(-1)!.unanswered);
  const found = new Set<string>();
  for (const { turn, index, facts } of places) {
    if ((facts.flags & MessageFlag.TOOL_CALL) === 0 || !isBefore(turns[turn]!, index, end)) continue;
    for (const { content, callId } of await elidableParts(counter, turns[turn]!, facts))
      if (content === ElidedContent.TOOL_ARGUMENTS && !open.has(callId)) found.add(callId);
  }
  return [...found];
}

/** What is called by the id that a result answers; calls stand not far before their results. */
function callNameBefore(
  turns: readonly ShownTurn[],
  places: readonly MessagePlace[],
  place: MessagePlace,
  callId: string,
  names: Map<string, string>,
): string {
  const known = names.get(callId);
  if (known !== undefined) return known;
  for (let at = places.indexOf(place) - 1; at >= 0; at--) {
    const { turn, facts } = places[at]!;
    if (facts.role === "U" && (facts.flags & MessageFlag.APPROVAL_ANSWER) === 0) break;
    if ((facts.flags & MessageFlag.TOOL_CALL) === 0) continue;
    for (const { content } of decodeMessages(bytesOf(turns[turn]!, facts))[0]!.parts)
      if (content?.$case === "toolCall") names.set(content.value.callId, shortName(content.value.name));
    if (names.has(callId)) break;
  }
  return names.get(callId) ?? "a tool";
}

interface Kept {
  readonly key: string;
  readonly texts: ShownTurn["texts"];
  readonly marked: MarkedMessage | undefined;
}

/** A session that keeps its marks makes the same ones in every assembly. */
const lately = new WeakMap<MessageFacts, Kept>();

async function markedMessage(
  counter: TokenCounter,
  turn: ShownTurn,
  { facts }: MessagePlace,
  caps: Caps,
  clean: boolean,
): Promise<MarkedMessage | undefined> {
  const { vocabulary, texts } = turn;
  const { callTokens = Number.POSITIVE_INFINITY, textTokens = Number.POSITIVE_INFINITY } = caps;
  const whole = minus(clean ? facts.cleanTokens : facts.sentTokens, messageOverheadTokens);
  if (whole <= Math.min(callTokens, textTokens) && caps.leftOut.size === 0) return undefined;
  const parts = (await elidableParts(counter, turn, facts)).filter(({ isContext }) => !clean || !isContext);
  if (!parts.some((part) => mayMark(part, undefined, { ...caps, keepsThinking: false }))) return undefined;
  const isPlain = !parts.some(({ callId }) => caps.leftOut.has(callId) || caps.open.has(callId));
  const key = [caps.callTokens, caps.textTokens, caps.keepsThinking, clean, vocabulary].join("/");
  const kept = lately.get(facts);
  if (isPlain && kept?.key === key && kept.texts === texts) return kept.marked;
  const stored = decodeMessages(bytesOf(turn, facts))[0]!;
  const message = clean ? withoutContext(stored) : stored;
  const tokens = minus(facts.cleanTokens, messageOverheadTokens);
  const contextTokens = clean ? countedTokens(0) : minus(facts.sentTokens, facts.cleanTokens);
  const marked = await markMessage(
    { counter, vocabulary, texts },
    message,
    parts,
    { tokens, contextTokens },
    caps,
  );
  if (isPlain) lately.set(facts, { key, texts, marked });
  return marked;
}

/** What stands for the beginning of a turn that was left out: a history begins with a user's message. */
interface SplitStart {
  readonly wire: Buffer;
  readonly tokens: CountedTokens;
  readonly o200kTokens: CountedTokens;
  readonly elided: readonly Elided[];
}

/** The request with which a turn begins, if it is shown where the turn is split. */
export function openingOf({ facts, from }: ShownTurn): number | undefined {
  const first = facts.messages.findIndex(({ role }) => role !== "S");
  return from === 0 && facts.startsClean && first >= 0 ? first : undefined;
}

async function startOf(counter: TokenCounter, turn: ShownTurn, rule: FitRule): Promise<SplitStart> {
  const { vocabulary, texts, stored, facts } = turn;
  const first = rule.openingTokens === undefined ? undefined : openingOf(turn);
  const opening = first === undefined ? undefined : await shortOpening(counter, turn, first, rule);
  const spoken = facts.messages.slice(0, rule.splitIndex).filter(({ role }) => role !== "S").length;
  const count = spoken - (opening ? 1 : 0);
  const mark = count > 0 ? fill(texts["left-out-messages"], { count }) : "";
  const message: Message = {
    ...emptyMessage,
    turnId: stored.turnId,
    role: MessageRole.USER,
    parts: [...(opening?.message.parts ?? []), ...(mark === "" ? [] : [textPart(mark)])],
    o200kTokens: (opening?.message.o200kTokens ?? 0) + countTokens(mark, "o200k_base"),
  };
  const at = { turnId: stored.turnId, messageIndex: turn.from + (first ?? 0) };
  return {
    wire: encodeMessages([message]).wire,
    tokens: plus(
      plus(opening?.tokens ?? countedTokens(0), countTokens(mark, vocabulary)),
      messageOverheadTokens,
    ),
    o200kTokens: plus(countedTokens(message.o200kTokens), messageOverheadTokens),
    elided: opening?.elided.map((part) => ({ ...part, ...at })) ?? [],
  };
}

async function shortOpening(
  counter: TokenCounter,
  turn: ShownTurn,
  first: number,
  { openingTokens }: FitRule,
): Promise<MarkedMessage> {
  const { vocabulary, texts } = turn;
  const facts = turn.facts.messages[first]!;
  const message = withoutContext(decodeMessages(bytesOf(turn, facts))[0]!);
  const parts = (await elidableParts(counter, turn, facts)).filter(({ isContext }) => !isContext);
  const tokens = minus(facts.cleanTokens, messageOverheadTokens);
  const contextTokens = countedTokens(0);
  const nothing = new Set<string>();
  const caps: Caps = {
    callTokens: openingTokens,
    textTokens: openingTokens,
    leftOut: nothing,
    open: nothing,
    keepsThinking: false,
    callName: () => "",
  };
  const how = { counter, vocabulary, texts };
  const marked = await markMessage(how, message, parts, { tokens, contextTokens }, caps);
  return marked ?? { message, tokens, contextTokens, elided: [] };
}

type Marks = ReadonlyMap<MessageFacts, MarkedMessage>;

function piecesOf(
  turn: ShownTurn,
  start: SplitStart | undefined,
  rule: FitRule,
  marked: Marks,
  clean: boolean,
): readonly Buffer[] {
  if (!start && !turn.facts.messages.some((facts) => marked.has(facts))) return turnPieces(turn, clean);
  const pieces = start ? [start.wire] : [];
  for (const [index, facts] of turn.facts.messages.entries()) {
    if (facts.role === "S" || (start && index < rule.splitIndex)) continue;
    const own = marked.get(facts);
    if (!own) pieces.push(messagePiece(turn, facts, clean));
    else if (own.message.parts.length > 0) pieces.push(wireOf(own));
  }
  if (turn.unanswered.length > 0) pieces.push(unansweredResults(turn));
  return pieces;
}

/** What the messages of `piecesOf` say of their tokens, without decoding one. */
function messagesOf(
  turn: ShownTurn,
  start: SplitStart | undefined,
  rule: FitRule,
  marked: Marks,
  clean: boolean,
): ShownMessages {
  const { stored, texts, unanswered } = turn;
  const o200kTokens = start ? [start.o200kTokens] : [];
  const answers: number[] = [];
  // Messages hold their o200k counts, whatever the turn is counted with.
  const counted = factsOf(stored).messages.slice(turn.from);
  for (const [index, facts] of turn.facts.messages.entries()) {
    if (facts.role === "S" || (start && index < rule.splitIndex)) continue;
    const own = marked.get(facts)?.message;
    if (own?.parts.length === 0) continue;
    if (facts.role === "A") answers.push(o200kTokens.length);
    const { cleanTokens, sentTokens } = counted[index]!;
    o200kTokens.push(
      own
        ? countedTokens(own.o200kTokens + own.contextO200kTokens + messageOverheadTokens)
        : clean
          ? cleanTokens
          : sentTokens,
    );
  }
  if (unanswered.length > 0)
    o200kTokens.push(unansweredTokens({ unanswered, texts, vocabulary: "o200k_base" }));
  const { turnId } = stored;
  return { turnId, o200kTokens, firstAnswer: answers[0] ?? -1, lastAnswer: answers.at(-1) ?? -1 };
}
