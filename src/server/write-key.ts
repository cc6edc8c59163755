import { sha256 } from "../domain/hash.js";
import type { WriteKey } from "../storage/ledger/stored-answers.js";

interface Codec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(input: Uint8Array): T;
}

const noHash = Buffer.alloc(0);

/**
 * What makes a write idempotent. The hash is over the decoded request with its maps in order, so that the same request
 * counts as the same from any client library, whatever order it writes maps in.
 */
export function writeKey<Request extends { readonly requestId: string }, Answer>(
  tenantId: string,
  method: string,
  request: Request,
  requestCodec: Codec<Request>,
  answerCodec: Codec<Answer>,
): WriteKey<Answer> {
  const { requestId } = request;
  return {
    tenantId,
    method,
    requestId,
    requestHash: requestId === "" ? noHash : sha256(requestCodec.encode(inOrder(request)).finish()),
    encode: (answer) => Buffer.from(answerCodec.encode(answer).finish()),
    decode: (bytes) => answerCodec.decode(bytes),
  };
}

type Tags = { readonly [key: string]: string };
const mapFields = ["metadata", "setMetadata"] as const;

function inOrder<Request extends object>(request: Request): Request {
  const fields = request as { [key: string]: unknown };
  const changed: { [key: string]: unknown } = {};
  for (const field of mapFields) if (fields[field]) changed[field] = sorted(fields[field] as Tags);
  if (fields.details) changed.details = inOrder(fields.details);
  return Object.keys(changed).length === 0 ? request : { ...request, ...changed };
}

function sorted(tags: Tags): Tags {
  return Object.fromEntries(Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1)));
}
