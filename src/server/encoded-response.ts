import { wireBytes } from "../domain/wire-bytes.js";
import type { Method } from "./method.js";

/** A response in wire form: pieces that together are the message. */
export type EncodedResponse = readonly Buffer[];

export function size(pieces: EncodedResponse): number {
  let bytes = 0;
  for (const piece of pieces) bytes += piece.length;
  return bytes;
}

/** The response as it goes over the wire, where a command gave it as a message. */
export function encodedResponse({ responseType }: Method, response: unknown): EncodedResponse {
  return Array.isArray(response) ? response : [wireBytes(responseType, response)];
}
