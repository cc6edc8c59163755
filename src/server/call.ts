import { once } from "node:events";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  MethodDefinition,
  ServerUnaryCall,
  ServerWritableStream,
} from "@grpc/grpc-js";
import type { Clock, Ids } from "../domain/clock.js";
import { QuireError } from "../errors/quire-error.js";
import type { Logger } from "../telemetry/logger.js";
import { toServiceError } from "./status.js";

/** What every call has: whose it is, and a signal that stops its work. */
export interface CallContext {
  readonly tenantId: string;
  readonly signal: AbortSignal;
}

export interface CallDeps {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Aborts when the server no longer waits for calls that go on. */
  readonly stopping: AbortSignal;
}

/** Until tokens say otherwise. */
const tenantId = "default";

type AnyCall = Pick<ServerUnaryCall<unknown, unknown>, "on" | "cancelled" | "getDeadline">;

/** Stands for bytes that are no message of the method, so that the error is ours to phrase. */
class MalformedRequest {
  constructor(readonly cause: unknown) {}
}

/** A response in wire form, which is sent as it is. */
export type EncodedResponse = Buffer;

interface Codec<T> {
  decode(input: BinaryReader): T;
  encode(message: T): { finish(): Uint8Array };
}

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * A method whose requests are decoded strictly (text that is not UTF-8 is refused, and not changed), and whose
 * handler may answer with bytes that are encoded already.
 */
export function method<Request, Response>(
  definition: MethodDefinition<Request, Response>,
  request: Codec<Request>,
  response: Codec<Response>,
): MethodDefinition<Request, Response> {
  return {
    ...definition,
    requestDeserialize: (bytes) => {
      try {
        return request.decode(new BinaryReader(bytes, (text) => strictDecoder.decode(text)));
      } catch (error) {
        return new MalformedRequest(error) as Request;
      }
    },
    responseSerialize: (value) => (Buffer.isBuffer(value) ? value : Buffer.from(response.encode(value).finish())),
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
      return handle(call.request, { tenantId, signal });
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
): handleServerStreamingCall<Request, Response> {
  return (call) => {
    const started = deps.clock.now();
    const { signal, release } = signalOf(call, deps.stopping);
    const run = async () => {
      validate(decoded(call.request, name));
      for await (const response of handle(call.request, { tenantId, signal })) {
        signal.throwIfAborted();
        if (!call.write(response as Response)) await drained(call, signal);
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

async function drained<Request, Response>(call: ServerWritableStream<Request, Response>, signal: AbortSignal): Promise<void> {
  await once(call, "drain", { signal });
}

function decoded<Request>(request: Request, name: string): Request {
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
  const stop = () => controller.abort(new QuireError("SHUTTING_DOWN", "the server is going down", { retryAfterMs: 1_000 }));
  call.on("cancelled", () => controller.abort(cancellation(call)));
  stopping.addEventListener("abort", stop);
  if (stopping.aborted) stop();
  return { signal: controller.signal, release: () => stopping.removeEventListener("abort", stop) };
}

function cancellation(call: AnyCall): QuireError {
  const deadline = call.getDeadline();
  const deadlineMs = deadline instanceof Date ? deadline.getTime() : deadline;
  return Number.isFinite(deadlineMs) && Date.now() >= deadlineMs
    ? new QuireError("DEADLINE_EXCEEDED", "the deadline passed; the work was stopped")
    : new QuireError("CANCELLED", "the caller went away; the work was stopped");
}

function failure(deps: CallDeps, name: string, started: number, call: AnyCall, signal: AbortSignal, thrown: unknown) {
  const error = signal.aborted && !(thrown instanceof QuireError) ? QuireError.from(signal.reason) : QuireError.from(thrown);
  const fields = { method: name, reason: error.reason, ms: deps.clock.now() - started };
  if (error.reason === "INTERNAL") {
    const incident = deps.ids.next();
    deps.logger.error({ ...fields, incident, cause: describe(error.cause) }, "call failed");
    return toServiceError(new QuireError("INTERNAL", `internal error; incident ${incident}`, { metadata: { incident } }));
  }
  if (error.reason === "STORAGE_UNAVAILABLE") deps.logger.warn({ ...fields, cause: describe(error.cause) }, "call failed");
  else deps.logger.debug({ ...fields, cancelled: call.cancelled }, "call refused");
  return toServiceError(error);
}

function describe(cause: unknown): object {
  if (!(cause instanceof Error)) return { message: String(cause) };
  return { name: cause.name, message: cause.message, stack: cause.stack };
}

function logEnd(deps: CallDeps, name: string, started: number): void {
  deps.logger.debug({ method: name, ms: deps.clock.now() - started }, "call done");
}
