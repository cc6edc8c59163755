import { sha256 } from "../domain/hash.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { canonicalForm } from "./canonical-form.js";
import type { Method } from "./method.js";

/** A request of a method that writes: the same one under the same id is done once. */
export interface IdempotentRequest {
  readonly requestId: string;
}

const noHash = Buffer.alloc(0);

/** Hashes of requests that were made with them, in a worker thread. */
const knownHashes = new WeakMap<object, Buffer>();

export function keepHash(request: object, hash: Buffer): void {
  knownHashes.set(request, hash);
}

export function isWrite(method: Method): method is Method<IdempotentRequest> {
  return method.input.field.requestId !== undefined;
}

/** Over the canonical form of what was decoded, so that it does not matter which client library wrote the bytes. */
export function requestHash({ input, requestType }: Method, request: object): Buffer {
  const known = knownHashes.get(request);
  if (known) return known;
  const form = canonicalForm(input);
  const canonical = form ? form(request as Readonly<Record<string, unknown>>) : request;
  return sha256(requestType.encode(canonical).finish());
}

/** What makes a write idempotent. */
export function writeKey<Request extends IdempotentRequest, Answer>(
  method: Method<Request, Answer>,
  tenantId: string,
  request: Request,
): WriteKey<Answer> {
  const { requestId } = request;
  return {
    tenantId,
    method: method.name,
    requestId,
    requestHash: requestId === "" ? noHash : requestHash(method, request),
    encode: (answer) => Buffer.from(method.responseType.encode(answer).finish()),
    decode: (bytes) => method.responseType.decode(bytes),
  };
}
