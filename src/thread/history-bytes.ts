import { emptyMessage, type Message, MessageRole, type Part, textPart } from "../domain/message.js";
import { countTokens } from "../tokens/count-tokens.js";
import { decodeMessages, encodeMessages } from "./message-codec.js";
import type { ShownTurn } from "./shown-turn.js";
import type { MessageFacts } from "./turn-facts.js";

/** The bytes of a turn's messages for a context: the stored ones, but for what must not be sent. */
export function turnPieces(turn: ShownTurn, clean: boolean): readonly Buffer[] {
  const { stored, facts } = turn;
  const carriesContext = clean && facts.sentTokens > facts.cleanTokens;
  const isAsStored = turn.from === 0 && !facts.hasSystem && !carriesContext;
  if (isAsStored && turn.unanswered.length === 0) return stored.wires;
  const messages = facts.messages.filter((message) => message.role !== "S");
  const pieces = isAsStored
    ? [...stored.wires]
    : messages.map((message) => messagePiece(turn, message, clean));
  if (turn.unanswered.length > 0) pieces.push(unansweredResults(turn));
  return pieces;
}

/** One message's bytes, without the context that was sent with it where that is asked for. */
export function messagePiece(turn: ShownTurn, message: MessageFacts, clean: boolean): Buffer {
  const bytes = bytesOf(turn, message);
  if (!clean || message.sentTokens === message.cleanTokens) return bytes;
  return encodeMessages(decodeMessages(bytes).map(withoutContext)).wire;
}

export function bytesOf(turn: ShownTurn, message: MessageFacts): Buffer {
  return turn.stored.wires[message.piece]!.subarray(message.start, message.end);
}

export function withoutContext(message: Message): Message {
  return { ...message, contextParts: [], contextJson: "", contextO200kTokens: 0, injected: undefined };
}

/** A call that nobody answered gets a result that says so: models refuse a conversation in which a call has none. */
export function unansweredResults(turn: ShownTurn): Buffer {
  const noResult = turn.texts["no-result"];
  const parts = turn.unanswered.map(
    (callId): Part => ({
      content: { $case: "toolResult", value: { callId, content: [textPart(noResult)], isError: true } },
    }),
  );
  const message: Message = {
    ...emptyMessage,
    turnId: turn.stored.turnId,
    index: turn.from + turn.facts.messages.length,
    role: MessageRole.TOOL,
    parts,
    o200kTokens: parts.length * countTokens(noResult, "o200k_base"),
  };
  return encodeMessages([message]).wire;
}
