import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { Message as WireMessage } from "../contract/gen/quire/v1/message.js";
import { fieldHead } from "../domain/field-head.js";
import type { Message, Part } from "../domain/message.js";
import { type IndexEntry, indexEntry, writeIndex } from "./message-index.js";

/** `messages` of StreamHistoryResponse. */
const messagesField = 1;

export interface EncodedMessages {
  /** The bytes as `messages` of a StreamHistoryResponse, so that reading history copies and does not encode. */
  readonly wire: Buffer;
  /** What can be read without decoding them (message-index.ts). */
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
function encodeMessage(message: Message, writer: BinaryWriter): Uint8Array[] {
  const parts = encoded.get(message.parts);
  if (!parts) return [WireMessage.encode(message, writer).finish()];
  const others = WireMessage.encode({ ...message, parts: [] }, writer).finish();
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

/** What the last messages were written into serves the next ones, unless it has become large, or there was an error half way. */
let smallWriter: BinaryWriter | undefined;

export function encodeMessages(messages: readonly Message[], firstFlags = 0): EncodedMessages {
  const pieces: Uint8Array[] = [];
  const entries: IndexEntry[] = [];
  const writer = smallWriter ?? new BinaryWriter();
  smallWriter = undefined;
  for (const message of messages) {
    const body = encodeMessage(message, writer);
    const bytes = body.reduce((sum, piece) => sum + piece.length, 0);
    const head = fieldHead(messagesField, bytes);
    pieces.push(head, ...body);
    const moreFlags = entries.length === 0 ? firstFlags : 0;
    entries.push(indexEntry(message, head.length + bytes, moreFlags));
  }
  const wire = Buffer.concat(pieces);
  if (wire.length < largeBytes) smallWriter = writer;
  return { wire, indexJson: writeIndex(entries) };
}

/** Read field by field: the response's own decoder would bring all of its service, and gRPC, into every worker thread. */
export function decodeMessages(wire: Uint8Array): readonly Message[] {
  const reader = new BinaryReader(wire);
  const messages: Message[] = [];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === messagesField) messages.push(WireMessage.decode(reader, reader.uint32()));
    else reader.skip(type, field);
  }
  return messages;
}

/** The messages of pieces of history, from the last one back. */
export function* newestFirst(pieces: readonly Uint8Array[]): Generator<Message> {
  for (let at = pieces.length - 1; at >= 0; at--) yield* decodeMessages(pieces[at]!).toReversed();
}
