import type { ServerUnaryCall } from "@grpc/grpc-js";
import { onAbort } from "../../domain/on-abort.js";
import { QuireError } from "../../errors/quire-error.js";
import { FewAtATime } from "../admission/few-at-a-time.js";
import type { WireRequest } from "../wire-request.js";
import { callerLeft, deadlinePassed } from "./early-end.js";

export type GrpcCall = Pick<
  ServerUnaryCall<WireRequest, unknown>,
  "request" | "on" | "cancelled" | "getDeadline"
>;

const ends = new FewAtATime(64);
/** Longer than a timer can wait. */
const foreverMs = 2 ** 31 - 1;

/** Aborts when the client cancels, when its deadline passes, or when the server gives up waiting. */
export function callSignal(
  call: GrpcCall,
  stopping: AbortSignal,
  isEndless: boolean,
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
  // Not `cancellation`: a timer can run out in the millisecond before its time.
  const timer = leftMs < foreverMs ? setTimeout(() => controller.abort(deadlinePassed()), leftMs) : undefined;
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

/** Milliseconds since 1970; undefined when the caller named none. */
export function deadlineOf(call: GrpcCall): number | undefined {
  const deadline = call.getDeadline();
  const deadlineMs = deadline instanceof Date ? deadline.getTime() : deadline;
  return Number.isFinite(deadlineMs) ? deadlineMs : undefined;
}

function cancellation(call: GrpcCall): QuireError {
  const deadlineMs = deadlineOf(call);
  return deadlineMs !== undefined && Date.now() >= deadlineMs ? deadlinePassed() : callerLeft();
}
