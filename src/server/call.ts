import { EventEmitter, once } from "node:events";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  MethodDefinition,
  ServerUnaryCall,
  ServerWritableStream,
} from "@grpc/grpc-js";
import type { DeepPartial } from "../contract/gen/quire/v1/message.js";
import type { Clock, Ids } from "../domain/clock.js";
import { QuireError } from "../errors/quire-error.js";
import type { Logger } from "../telemetry/logger.js";
import { toServiceError } from "./status.js";

/** What every call has: whose it is, and a signal that stops its work. */
export interface CallContext {
  readonly tenantId: string;
  readonly signal: AbortSignal;
  /** When the caller stops waiting, if it said so: milliseconds since 1970. */
  readonly deadlineMs?: number | undefined;
}

export interface CallDeps {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Aborts when the server no longer waits for calls that go on. */
  readonly stopping: AbortSignal;
  /** Aborts when the server is told to stop: calls without an end of their own end then. */
  readonly draining: AbortSignal;
}

/** Until tokens say otherwise. */
export const tenantId = "default";

type AnyCall = Pick<ServerUnaryCall<unknown, unknown>, "on" | "cancelled" | "getDeadline">;

/** Stands for bytes that are no message of the method, so that the error is ours to phrase. */
class MalformedRequest {
  constructor(readonly cause: unknown) {}
}

/** A response in wire form: pieces that together are the message. */
export type EncodedResponse = readonly Buffer[];

const scratch = Buffer.allocUnsafeSlow(1024 * 1024);

/** Puts the pieces together in one buffer for all: grpc-js copies what a serializer gives before it does anything else. */
function joined(pieces: EncodedResponse): Buffer {
  const bytes = size(pieces);
  if (bytes > scratch.length) return Buffer.concat(pieces, bytes);
  let at = 0;
  for (const piece of pieces) {
    scratch.set(piece, at);
    at += piece.length;
  }
  return scratch.subarray(0, bytes);
}

function size(pieces: EncodedResponse): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

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

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** A request may be many megabytes; of empty elements, which take two bytes each, it could hold more than memory does. */
const maxValues = 1_000_000;

class StrictReader extends BinaryReader {
  constructor(bytes: Uint8Array) {
    super(bytes, (text) => strictDecoder.decode(text));
    // Every tag, length and number takes a byte at least, so most requests need no count.
    if (bytes.length <= maxValues) return;
    const read = this.uint32;
    let left = maxValues;
    this.uint32 = () => {
      if (left-- === 0) throw new RangeError(`more than ${maxValues} values`);
      return read.call(this);
    };
  }
}

function decodeStrictly<T>(bytes: Uint8Array, codec: Codec<T>): T {
  const reader = new StrictReader(bytes);
  const message = codec.decode(reader);
  // Generated code stops at a tag that cannot be, and would leave out what follows it.
  if (reader.pos !== reader.len) throw new RangeError("bytes after the end of the message");
  return message;
}

/**
 * A method whose requests are decoded strictly (text that is not UTF-8 is refused, and not changed), and whose
 * handler may answer in wire form.
 */
export function method<Request, Response>(
  definition: MethodDefinition<Request, Response>,
  request: RequestCodec<Request>,
  response: Codec<Response>,
): Method<Request, Response> {
  return {
    ...definition,
    fromPartial: (partial) => request.fromPartial(partial),
    requestDeserialize: (bytes) => {
      try {
        return decodeStrictly(bytes, request);
      } catch (error) {
        return new MalformedRequest(error) as Request;
      }
    },
    responseSerialize: (value) =>
      Array.isArray(value) ? joined(value) : Buffer.from(response.encode(value).finish()),
  };
}

/** One unary RPC: validation, work, and one way for every failure. */
export function unary<Request, Response>(
  deps: CallDeps,
  name: string,
  validate: (request: Request) => void,
  handle: (request: Request, context: CallContext) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, callback) => {
    const started = deps.clock.now();
    const { signal, release } = signalOf(call, deps.stopping);
    const run = async () => {
      validate(decoded(call.request, name));
      return handle(call.request, { tenantId, signal, deadlineMs: deadlineOf(call) });
    };
    run()
      .then(
        (response) => {
          logEnd(deps, name, started);
          callback(null, response);
        },
        (thrown) => callback(failure(deps, name, started, call, signal, thrown)),
      )
      .finally(release);
  };
}

/** One server-streaming RPC. The next response is made only when the client has room for it. */
export function serverStream<Request, Response>(
  deps: CallDeps,
  name: string,
  validate: (request: Request) => void,
  handle: (request: Request, context: CallContext) => AsyncIterable<Response | EncodedResponse>,
  stopping: AbortSignal = deps.stopping,
): handleServerStreamingCall<Request, Response> {
  return (call) => {
    const started = deps.clock.now();
    const { signal, release } = signalOf(call, stopping);
    const run = async () => {
      validate(decoded(call.request, name));
      const room = new SendRoom(call, signal);
      for await (const response of handle(call.request, {
        tenantId,
        signal,
        deadlineMs: deadlineOf(call),
      })) {
        signal.throwIfAborted();
        await room.send(response);
      }
      signal.throwIfAborted();
    };
    run()
      .then(
        () => {
          logEnd(deps, name, started);
          call.end();
        },
        (thrown) => call.emit("error", failure(deps, name, started, call, signal, thrown)),
      )
      .finally(release);
  };
}

/** About how many bytes may wait for a client; one response that is larger waits alone. */
const maxWaitingBytes = 1024 * 1024;

/** Counts what waits to be sent: grpc-js counts responses, however large they are. */
class SendRoom<Request, Response> {
  private waitingBytes = 0;
  private readonly sent = new EventEmitter();

  constructor(
    private readonly call: ServerWritableStream<Request, Response>,
    private readonly signal: AbortSignal,
  ) {}

  async send(response: Response | EncodedResponse): Promise<void> {
    const bytes = Array.isArray(response) ? size(response) : 0;
    while (this.waitingBytes > 0 && this.waitingBytes + bytes > maxWaitingBytes) {
      await once(this.sent, "sent", { signal: this.signal });
    }
    this.waitingBytes += bytes;
    const hasRoom = this.call.write(response as Response, () => {
      this.waitingBytes -= bytes;
      this.sent.emit("sent");
    });
    if (!hasRoom) await once(this.call, "drain", { signal: this.signal });
  }
}

/** The request, if it is one. */
export function decoded<Request>(request: Request, name: string): Request {
  if (request instanceof MalformedRequest) {
    throw new QuireError("MALFORMED_REQUEST", `the bytes are no request of ${name}`, {
      metadata: { method: name },
      cause: request.cause,
    });
  }
  return request;
}

/** Aborts when the client cancels, when its deadline passes (grpc-js cancels then, too), or when the server gives up waiting. */
function signalOf(call: AnyCall, stopping: AbortSignal): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const stop = () =>
    controller.abort(new QuireError("SHUTTING_DOWN", "the server is going down", { retryAfterMs: 1_000 }));
  let isDone = false;
  // grpc-js says so of every unary call, too, after it was answered.
  call.on("cancelled", () => {
    if (!isDone) controller.abort(cancellation(call));
  });
  stopping.addEventListener("abort", stop);
  if (stopping.aborted) stop();
  const release = () => {
    isDone = true;
    stopping.removeEventListener("abort", stop);
  };
  return { signal: controller.signal, release };
}

function deadlineOf(call: AnyCall): number | undefined {
  const deadline = call.getDeadline();
  const deadlineMs = deadline instanceof Date ? deadline.getTime() : deadline;
  return Number.isFinite(deadlineMs) ? deadlineMs : undefined;
}

function cancellation(call: AnyCall): QuireError {
  const deadlineMs = deadlineOf(call);
  return deadlineMs !== undefined && Date.now() >= deadlineMs
    ? new QuireError("DEADLINE_EXCEEDED", "the deadline passed; the work was stopped")
    : new QuireError("CANCELLED", "the caller went away; the work was stopped");
}

function failure(
  deps: CallDeps,
  name: string,
  started: number,
  call: AnyCall,
  signal: AbortSignal,
  thrown: unknown,
) {
  const error = QuireError.from(signal.aborted && isAbort(thrown) ? signal.reason : thrown);
  const fields = { method: name, reason: error.reason, ms: deps.clock.now() - started };
  if (error.reason === "INTERNAL") {
    const incident = deps.ids.next();
    deps.logger.error({ ...fields, incident, cause: describe(error.cause) }, "call failed");
    return toServiceError(
      new QuireError("INTERNAL", `internal error; incident ${incident}`, { metadata: { incident } }),
    );
  }
  if (error.reason === "STORAGE_UNAVAILABLE")
    deps.logger.warn({ ...fields, cause: describe(error.cause) }, "call failed");
  else deps.logger.debug({ ...fields, cancelled: call.cancelled }, "call refused");
  return toServiceError(error);
}

/** Whether the work ended because it was told to: then the signal knows best why. */
function isAbort(thrown: unknown): boolean {
  return !(thrown instanceof QuireError) || thrown.reason === "CANCELLED";
}

/** An error for the log. What an error quotes may be content, and Prisma's show whole queries. */
function describe(cause: unknown): object {
  if (!(cause instanceof Error)) return { name: typeof cause };
  const { code } = cause as { readonly code?: unknown };
  const message = cause.name.startsWith("PrismaClient")
    ? undefined
    : cause.message.replace(/(["'`]).*\1/gs, "$1…$1");
  const frames = cause.stack?.split("\n").filter((line) => /^\s+at /.test(line));
  return { name: cause.name, code, message, stack: frames?.join("\n") };
}

function logEnd(deps: CallDeps, name: string, started: number): void {
  deps.logger.debug({ method: name, ms: deps.clock.now() - started }, "call done");
}
