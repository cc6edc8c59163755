import { sha256 } from "../domain/hash.js";
import type { WriteKey } from "../storage/stored-answers.js";

interface Codec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(input: Uint8Array): T;
}

const noHash = Buffer.alloc(0);

/** Hashes of requests that were made with them, in a worker thread. */
const knownHashes = new WeakMap<object, Buffer>();

export function keepHash(request: object, hash: Buffer): void {
  knownHashes.set(request, hash);
}

/**
 * Over the decoded request with its maps in order and without the fields that only the server sets, so that the same request
 * counts as the same from any client library, whatever order it writes maps in.
 */
export function requestHash<Request extends object>(
  request: Request,
  encode: (request: Request) => Uint8Array,
): Buffer {
  return knownHashes.get(request) ?? sha256(encode(canonical(request)));
}

/** What makes a write idempotent. */
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
    requestHash:
      requestId === "" ? noHash : requestHash(request, (value) => requestCodec.encode(value).finish()),
    encode: (answer) => Buffer.from(answerCodec.encode(answer).finish()),
    decode: (bytes) => answerCodec.decode(bytes),
  };
}

type Fields = { readonly [key: string]: unknown };
type Tags = { readonly [key: string]: string };

const setByServer = {
  id: "",
  turnId: "",
  index: 0,
  o200kTokens: 0,
  contextO200kTokens: 0,
  createTime: undefined,
};

/** What is done to the fields of a request, and of its `details` and `result`. */
const rules: { readonly [field: string]: (value: unknown) => unknown } = {
  metadata: (tags) => sorted(tags as Tags),
  setMetadata: (tags) => sorted(tags as Tags),
  messages: (messages) => (messages as readonly Fields[]).map((message) => ({ ...message, ...setByServer })),
  calls: () => [],
  details: (details) => canonical(details as Fields),
  result: (result) => canonical(result as Fields),
};

function canonical<Message extends object>(message: Message): Message {
  const changed: { [key: string]: unknown } = {};
  for (const [field, value] of Object.entries(message)) {
    const rule = rules[field];
    if (rule && value !== undefined) changed[field] = rule(value);
  }
  return { ...message, ...changed };
}

function sorted(tags: Tags): Tags {
  return Object.fromEntries(Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1)));
}
