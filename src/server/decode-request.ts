import { services } from "../contract/services.js";
import { type FieldViolation, QuireError } from "../errors/quire-error.js";
import { handingOver } from "../offload/offload.js";
import { encodeParts } from "../thread/message-codec.js";
import { heldMessages, type MessageHolder } from "./held-messages.js";
import { type Method, methodsOf } from "./method.js";
import { decodeStrictly } from "./strict-reader.js";
import { checked } from "./validation/engine/message-check.js";
import { type IdempotentRequest, requestHash } from "./write-key.js";

interface Decoded {
  readonly request: unknown;
  readonly hash: Uint8Array | undefined;
  /** The parts of each message in stored form; undefined for small ones. */
  readonly encodedParts: readonly (Uint8Array | undefined)[];
}

/** What is wrong with a request that was decoded. */
export interface Refusal {
  readonly message: string;
  readonly violations: readonly FieldViolation[];
}

const methods = new Map(
  Object.values(services)
    .flatMap((service) => Object.values<Method>(methodsOf(service)))
    .map((method) => [method.path, method]),
);

/**
 * Runs in a worker thread. What is wrong with a request is said, not thrown: an error would be cloned with its stack. One that is
 * refused stays here: no other thread takes over megabytes for nothing.
 */
export function decodeRequest(input: {
  readonly path: string;
  readonly bytes: Uint8Array;
}): Decoded | { readonly failure: string } | { readonly refusal: Refusal } {
  const method = methods.get(input.path)!;
  let request: MessageHolder & Partial<IdempotentRequest>;
  try {
    const bytes = Buffer.from(input.bytes.buffer, input.bytes.byteOffset, input.bytes.length);
    request = decodeStrictly(bytes, (reader) => method.requestType.decode(reader)) as typeof request;
  } catch (error) {
    return { failure: (error as Error).message };
  }
  const refusal = refusalOf(method, request);
  if (refusal) return { refusal };
  const hash = request.requestId ? requestHash(method, request) : undefined;
  const encodedParts = heldMessages(request).map(encodeParts);
  const buffers = encodedParts.flatMap((parts) => (parts ? [parts.buffer as ArrayBuffer] : []));
  return handingOver({ request, hash, encodedParts }, buffers);
}

function refusalOf({ input }: Method, request: object): Refusal | undefined {
  try {
    checked(input)(request);
  } catch (error) {
    if (!(error instanceof QuireError)) throw error;
    return { message: error.message, violations: error.violations };
  }
  return undefined;
}
