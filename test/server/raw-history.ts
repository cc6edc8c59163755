import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type Client, Metadata } from "@grpc/grpc-js";
import {
  LedgerServiceService,
  StreamHistoryRequest,
} from "../../src/contract/gen/quire/v1/ledger_service.js";
import { Message } from "../../src/contract/gen/quire/v1/message.js";
import type { HistoryRequest } from "../ledger/ledger-calls.js";

/** A message as it came over the wire: with the tag and length that it has in its batch. */
export interface RawMessage {
  readonly bytes: Buffer;
  readonly message: Message;
}

/** The batches of a history as bytes. */
export function rawBatches(client: Client, request: HistoryRequest): Promise<Buffer[]> {
  const { path, requestSerialize } = LedgerServiceService.streamHistory;
  return rawResponses(client, path, requestSerialize(StreamHistoryRequest.create(request)));
}

/** The responses of a stream as bytes. */
export async function rawResponses(client: Client, path: string, request: Buffer): Promise<Buffer[]> {
  const identity = (bytes: Buffer) => bytes;
  const stream = client.makeServerStreamRequest(path, identity, identity, request, new Metadata());
  const responses: Buffer[] = [];
  for await (const response of stream) responses.push(response as Buffer);
  return responses;
}

/** The messages of a batch, without a re-encoding. */
export function rawMessages(batch: Buffer): RawMessage[] {
  const reader = new BinaryReader(batch);
  const found: RawMessage[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    if (field === 1 && wireType === WireType.LengthDelimited) {
      const message = Message.decode(reader.bytes());
      found.push({ bytes: batch.subarray(start, reader.pos), message });
    } else {
      reader.skip(wireType, field);
    }
  }
  return found;
}

/** The bytes of each turn of a history, by turn id, in the order of the thread. */
export function bytesByTurn(batches: readonly Buffer[]): Map<string, Buffer> {
  const turns = new Map<string, Buffer>();
  for (const { bytes, message } of batches.flatMap(rawMessages)) {
    turns.set(message.turnId, Buffer.concat([turns.get(message.turnId) ?? Buffer.alloc(0), bytes]));
  }
  return turns;
}
