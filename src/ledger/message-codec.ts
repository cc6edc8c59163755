import { BinaryReader } from "@bufbuild/protobuf/wire";
import { StreamHistoryResponse } from "../contract/gen/quire/v1/ledger_service.js";
import { Message as WireMessage } from "../contract/gen/quire/v1/message.js";
import { fieldHead } from "../domain/field-head.js";
import type { Message, MessageRole, Part } from "../domain/message.js";

/** `messages` of StreamHistoryResponse. */
const messagesField = 1;

const roleLetters: Readonly<Record<MessageRole, string>> = {
  MESSAGE_ROLE_UNSPECIFIED: "?",
  MESSAGE_ROLE_SYSTEM: "S",
  MESSAGE_ROLE_USER: "U",
  MESSAGE_ROLE_ASSISTANT: "A",
  MESSAGE_ROLE_TOOL: "T",
  UNRECOGNIZED: "?",
};

/** Facts about a message that can be read without decoding it. */
const flagBits = {
  toolCall: 1,
  toolResult: 2,
  approvalRequest: 4,
  approvalAnswer: 8,
  thinking: 16,
  opaque: 32,
  image: 64,
  file: 128,
  text: 0,
};

export interface EncodedMessages {
  /** The bytes as `messages` of a StreamHistoryResponse, so that reading history copies and does not encode. */
  readonly wire: Buffer;
  /** One [role, tokens, context tokens, flags, bytes] per message. */
  readonly indexJson: string;
}

/** Fewer bytes than these are encoded at once. */
const largeBytes = 64 * 1024;
const partsField = 5;
const encoded = new WeakMap<readonly Part[], Buffer>();

/** The parts of a message as the bytes that they are in it, if they are many. */
export function encodeParts({ parts }: Message): Uint8Array | undefined {
  const bytes = WireMessage.encode(WireMessage.create({ parts })).finish();
  return bytes.length < largeBytes ? undefined : bytes;
}

/** Keeps what `encodeParts` made elsewhere for the time when the message is stored. */
export function keepEncoded(parts: readonly Part[], bytes: Buffer): void {
  encoded.set(parts, bytes);
}

/** The message in pieces that together are what the generated code would make of it. */
function encodeMessage(message: Message): Buffer[] {
  const parts = encoded.get(message.parts);
  if (!parts) return [WireMessage.encode(message).finish() as Buffer];
  const others = WireMessage.encode({ ...message, parts: [] }).finish() as Buffer;
  const reader = new BinaryReader(others);
  let at = 0;
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field > partsField) break;
    reader.skip(wireType, field);
    at = reader.pos;
  }
  return [others.subarray(0, at), parts, others.subarray(at)];
}

/** In the first entry of a piece: the turn gave up calls of the turn before. */
export const abandonsFlag = 256;

export function encodeMessages(messages: readonly Message[], firstFlags = 0): EncodedMessages {
  const pieces: Buffer[] = [];
  const index: (string | number)[][] = [];
  for (const message of messages) {
    const body = encodeMessage(message);
    const bytes = body.reduce((sum, piece) => sum + piece.length, 0);
    const head = fieldHead(messagesField, bytes);
    pieces.push(head, ...body);
    let flags = index.length === 0 ? firstFlags : 0;
    for (const part of message.parts) flags |= part.content ? flagBits[part.content.$case] : 0;
    index.push([
      roleLetters[message.role],
      message.o200kTokens,
      message.contextO200kTokens,
      flags,
      head.length + bytes,
    ]);
  }
  return { wire: Buffer.concat(pieces), indexJson: JSON.stringify(index) };
}

export function decodeMessages(wire: Uint8Array): readonly Message[] {
  return StreamHistoryResponse.decode(new BinaryReader(wire)).messages;
}

/** The bytes of each message of a stored piece, in order. */
export function messageSizes(indexJson: string): number[] {
  return (JSON.parse(indexJson) as (string | number)[][]).map((entry) => entry[4] as number);
}
