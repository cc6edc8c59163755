import { services } from "../contract/services.js";
import { handingOver } from "../offload/offload.js";
import { encodeParts } from "../thread/message-codec.js";
import { heldMessages, type MessageHolder } from "./held-messages.js";
import { type Method, methodsOf } from "./method.js";
import { decodeStrictly } from "./strict-reader.js";
import { type IdempotentRequest, requestHash } from "./write-key.js";

interface Decoded {
  readonly request: unknown;
  readonly hash: Uint8Array | undefined;
  /** The parts of each message in stored form; undefined for small ones. */
  readonly encodedParts: readonly (Uint8Array | undefined)[];
}

const methods = new Map(
  Object.values(services)
    .flatMap((service) => Object.values<Method>(methodsOf(service)))
    .map((method) => [method.path, method]),
);

/** Runs in a worker thread. What is wrong with the bytes is said, not thrown: an error would be cloned with its stack. */
export function decodeRequest(input: {
  readonly path: string;
  readonly bytes: Uint8Array;
}): Decoded | { readonly failure: string } {
  const method = methods.get(input.path)!;
  let request: MessageHolder & Partial<IdempotentRequest>;
  try {
    const bytes = Buffer.from(input.bytes.buffer, input.bytes.byteOffset, input.bytes.length);
    request = decodeStrictly(bytes, (reader) => method.requestType.decode(reader)) as typeof request;
  } catch (error) {
    return { failure: (error as Error).message };
  }
  const hash = request.requestId ? requestHash(method, request) : undefined;
  const encodedParts = heldMessages(request).map(encodeParts);
  const buffers = encodedParts.flatMap((parts) => (parts ? [parts.buffer as ArrayBuffer] : []));
  return handingOver({ request, hash, encodedParts }, buffers);
}
