import { messageOverheadTokens } from "../budget/token-scale.js";
import { type Message, MessageRole, type Part } from "../domain/message.js";
import { decodeMessages, encodeMessages } from "../ledger/message-codec.js";
import { countTokens } from "../tokens/count-tokens.js";
import type { WindowTurn } from "./thread-window.js";
import type { MessageFacts } from "./turn-facts.js";

/** The bytes of a turn's messages for a context: the stored ones, but for what must not be sent. */
export function turnPieces(turn: WindowTurn, clean: boolean): readonly Buffer[] {
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
export function messagePiece(turn: WindowTurn, message: MessageFacts, clean: boolean): Buffer {
  const bytes = bytesOf(turn, message);
  if (!clean || message.sentTokens === message.cleanTokens) return bytes;
  return encodeMessages(decodeMessages(bytes).map(withoutContext)).wire;
}

export function bytesOf(turn: WindowTurn, message: MessageFacts): Buffer {
  return turn.stored.wires[message.piece]!.subarray(message.start, message.end);
}

export function withoutContext(message: Message): Message {
  return { ...message, contextParts: [], contextJson: "", contextO200kTokens: 0, injected: undefined };
}

export function textPart(text: string): {
  readonly content: { readonly $case: "text"; readonly value: { readonly text: string } };
} {
  return { content: { $case: "text", value: { text } } };
}

/** What the made-up results of a turn's calls cost. */
export function unansweredTokens({
  unanswered,
  texts,
  vocabulary,
}: Pick<WindowTurn, "unanswered" | "texts" | "vocabulary">): number {
  const calls = unanswered.length;
  return calls === 0 ? 0 : calls * countTokens(texts["no-result"], vocabulary) + messageOverheadTokens;
}

/** A call that nobody answered gets a result that says so: models refuse a conversation in which a call has none. */
export function unansweredResults(turn: WindowTurn): Buffer {
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

export const emptyMessage: Message = {
  id: "",
  turnId: "",
  index: 0,
  role: MessageRole.UNSPECIFIED,
  parts: [],
  contextParts: [],
  contextJson: "",
  o200kTokens: 0,
  contextO200kTokens: 0,
  createTime: undefined,
  injected: undefined,
};
