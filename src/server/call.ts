import { EventEmitter, once } from "node:events";
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  ServerUnaryCall,
  ServerWritableStream,
} from "@grpc/grpc-js";
import type { Clock, Ids } from "../domain/clock.js";
import { onAbort } from "../domain/on-abort.js";
import { QuireError } from "../errors/quire-error.js";
import type { Offload } from "../offload/offload.js";
import type { Logger } from "../telemetry/logger.js";
import type { Admission } from "./admission/admission.js";
import type { Leave } from "./admission/call-slots.js";
import { FewAtATime } from "./admission/few-at-a-time.js";
import { openLarge } from "./large-request.js";
import { type EncodedResponse, size, wireRequest } from "./method.js";
import { toServiceError } from "./status.js";
import type { WireRequest } from "./wire-request.js";

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
  readonly admission: Admission;
  readonly offload: Offload;
  /** Aborts when the server no longer waits for calls that go on. */
  readonly stopping: AbortSignal;
  /** Aborts when the server is told to stop: calls without an end of their own end then. */
  readonly draining: AbortSignal;
}

/** Until tokens say otherwise. */
export const tenantId = "default";

type AnyCall = Pick<ServerUnaryCall<unknown, unknown>, "on" | "cancelled" | "getDeadline">;

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
    const run = () =>
      atWork(deps, wireRequest(call.request), signal, async (wire) => {
        const request = await opened(deps, wire, name, validate, signal);
        return handle(request, { tenantId, signal, deadlineMs: deadlineOf(call) });
      });
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

/**
 * One server-streaming RPC. The next response is made only when the client has room for it. A call that waits for its
 * client is no longer counted as at work, nor is one that has no end of its own.
 */
export function serverStream<Request, Response>(
  deps: CallDeps,
  name: string,
  validate: (request: Request) => void,
  handle: (request: Request, context: CallContext) => AsyncIterable<Response | EncodedResponse>,
  endless: boolean,
): handleServerStreamingCall<Request, Response> {
  return (call) => {
    const started = deps.clock.now();
    const { signal, release } = signalOf(call, endless ? deps.draining : deps.stopping, endless);
    const run = () =>
      atWork(deps, wireRequest(call.request), signal, async (wire, leave) => {
        const request = await opened(deps, wire, name, validate, signal);
        const room = new SendRoom(call, signal, leave);
        for await (const response of handle(request, { tenantId, signal, deadlineMs: deadlineOf(call) })) {
          signal.throwIfAborted();
          await room.send(response);
          // From its first answer on it only waits.
          if (endless) leave();
        }
        signal.throwIfAborted();
      });
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
    private readonly waits: () => void,
  ) {}

  async send(response: Response | EncodedResponse): Promise<void> {
    const bytes = Array.isArray(response) ? size(response) : 0;
    while (this.waitingBytes > 0 && this.waitingBytes + bytes > maxWaitingBytes) {
      this.waits();
      await once(this.sent, "sent", { signal: this.signal });
    }
    this.waitingBytes += bytes;
    const hasRoom = this.call.write(response as Response, () => {
      this.waitingBytes -= bytes;
      this.sent.emit("sent");
    });
    if (hasRoom) return;
    this.waits();
    await once(this.call, "drain", { signal: this.signal });
  }
}

/** Above this size a request takes long enough to be felt by others. */
const largeBytes = 1024 * 1024;

/** Runs a call when there is a place for it. What was cancelled while it waited is never even decoded. */
function atWork<Request, T>(
  { admission }: CallDeps,
  wire: WireRequest<Request>,
  signal: AbortSignal,
  work: (wire: WireRequest<Request>, leave: Leave) => Promise<T>,
): Promise<T> {
  const run = async () => {
    wire.admitted?.begin();
    let leave: Leave | undefined;
    try {
      leave = await admission.slots.enter(wire.admitted?.connection ?? admission, signal);
      signal.throwIfAborted();
      return await work(wire, leave);
    } finally {
      leave?.();
      wire.admitted?.end();
    }
  };
  return admission.track(run());
}

/** The request, decoded and found valid. */
function opened<Request>(
  { admission, offload }: CallDeps,
  wire: WireRequest<Request>,
  name: string,
  validate: (request: Request) => void,
  signal: AbortSignal,
): Request | Promise<Request> {
  if (wire.size > largeBytes) {
    return admission.turns.run(signal, async (nextTurn) => {
      const request = await openLarge(offload, wire, name, signal);
      await nextTurn();
      validate(request);
      return request;
    });
  }
  const request = wire.open(name);
  validate(request);
  return request;
}

const ends = new FewAtATime(64);
/** Longer than a timer can wait. */
const foreverMs = 2 ** 31 - 1;

/** Aborts when the client cancels, when its deadline passes, or when the server gives up waiting. */
function signalOf(
  call: AnyCall,
  stopping: AbortSignal,
  isEndless = false,
): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  let isDone = false;
  const cancel = () => {
    if (!isDone) controller.abort(cancellation(call));
  };
  // grpc-js says so of every unary call, too, after it was answered. Watches end by the thousand, when a connection does.
  call.on("cancelled", () => (isEndless ? ends.soon(cancel) : cancel()));
  // grpc-js says that a deadline passed when it can tell the client, and not while the client reads nothing.
  const leftMs = (deadlineOf(call) ?? Number.POSITIVE_INFINITY) - Date.now();
  const timer =
    leftMs < foreverMs ? setTimeout(() => controller.abort(cancellation(call)), leftMs) : undefined;
  const ignore = onAbort(stopping, () =>
    controller.abort(new QuireError("SHUTTING_DOWN", "the server is going down", { retryAfterMs: 1_000 })),
  );
  const release = () => {
    isDone = true;
    clearTimeout(timer);
    ignore();
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
  if (error.reason === "STORAGE_UNAVAILABLE" || error.reason === "COMMIT_OUTCOME_UNKNOWN")
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
