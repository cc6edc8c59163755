import type { BinaryReader } from "@bufbuild/protobuf/wire";
import type { MethodDefinition } from "@grpc/grpc-js";
import type { DeepPartial } from "../contract/gen/quire/v1/message.js";
import { WireRequest } from "./wire-request.js";

/** A response in wire form: pieces that together are the message. */
export type EncodedResponse = readonly Buffer[];

interface Codec<T> {
  decode(input: BinaryReader): T;
  encode(message: T): { finish(): Uint8Array };
}

interface RequestCodec<T> extends Codec<T> {
  fromPartial(partial: DeepPartial<T>): T;
}

/** A method of the contract, with what makes a whole request of the fields that a caller gives. */
export interface Method<Request, Response> extends MethodDefinition<Request, Response> {
  fromPartial(partial: DeepPartial<Request>): Request;
}

/** A method whose requests stay as they came until a handler opens them, and whose handler may answer in wire form. */
export function method<Request, Response>(
  definition: MethodDefinition<Request, Response>,
  request: RequestCodec<Request>,
  response: Codec<Response>,
): Method<Request, Response> {
  return {
    ...definition,
    fromPartial: (partial) => request.fromPartial(partial),
    requestDeserialize: (bytes) =>
      new WireRequest(bytes, definition.path, (reader) => request.decode(reader)) as Request,
    responseSerialize: (value) =>
      Array.isArray(value) ? joined(value) : Buffer.from(response.encode(value).finish()),
  };
}

/** The request inside what a `Method` made of the bytes. */
export function wireRequest<Request>(request: Request): WireRequest<Request> {
  return request as unknown as WireRequest<Request>;
}

export function size(pieces: EncodedResponse): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

const scratch = Buffer.allocUnsafeSlow(1024 * 1024);

/** Puts the pieces together in one buffer for all: grpc-js copies what a serializer gives before it does anything else. */
function joined(pieces: EncodedResponse): Buffer {
  const [first] = pieces;
  if (first && pieces.length === 1) return first;
  const bytes = size(pieces);
  if (bytes > scratch.length) return Buffer.concat(pieces, bytes);
  let at = 0;
  for (const piece of pieces) {
    scratch.set(piece, at);
    at += piece.length;
  }
  return scratch.subarray(0, bytes);
}
