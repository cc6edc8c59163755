import type { DeepPartial } from "../contract/gen/quire/v1/message.js";
import type { CallsOf, ServerStreamCall, ServiceDefinition, UnaryCall } from "../contract/service.js";
import { QuireError } from "../errors/quire-error.js";
import { defaultTenantId } from "../server/call/call-context.js";
import type { Method } from "../server/method.js";
import type { Rpc } from "../server/rpc.js";
import type { Service } from "../server/service.js";
import { WireRequest } from "../server/wire-request.js";
import type { RunningCalls } from "./running-calls.js";

export interface CallOptions {
  /** Stops the call: `AbortSignal.timeout(ms)` is a deadline. */
  readonly signal?: AbortSignal;
}

/** A request with only the fields that matter, and its answer. Rejects with a QuireError. */
export type Call<Request, Response> = UnaryCall<Request, Response, CallOptions>;

/** A request and the events that answer it. The iteration throws a QuireError. */
export type StreamCall<Request, Response> = ServerStreamCall<Request, Response, CallOptions>;

/** The RPCs of a service as methods: the same checks and the same work as over the wire. */
export function bind<Definition extends ServiceDefinition>(
  calls: RunningCalls,
  { rpcs }: Service<Definition>,
): CallsOf<Definition, CallOptions> {
  const bound = Object.entries<Rpc>(rpcs).map(([name, rpc]) => [name, bindOne(calls, rpc)]);
  return Object.fromEntries(bound) as CallsOf<Definition, CallOptions>;
}

function bindOne(calls: RunningCalls, rpc: Rpc): Call<unknown, unknown> | StreamCall<unknown, unknown> {
  const { method } = rpc;
  const open = (given: DeepPartial<unknown>): object => {
    const request = received(method, given);
    rpc.validate(request);
    return request;
  };
  const contextOf = (signal: AbortSignal, stepAside = () => signal) => ({
    tenantId: defaultTenantId,
    signal,
    stepAside,
  });
  if (rpc.kind === "unary") {
    return (given, options = {}) =>
      calls.answer(options.signal, async (signal, stepAside) =>
        asMessage(method, await rpc.handle(open(given), contextOf(signal, stepAside))),
      );
  }
  return (given, options = {}) =>
    calls.stream(options.signal, async function* (signal) {
      for await (const response of rpc.handle(open(given), contextOf(signal)))
        yield asMessage(method, response);
    });
}

/**
 * The request as a server would have received it. Encoding it finds values that are not of their type, and makes it the
 * engine's own, so that a caller may go on changing what it gave.
 */
function received(method: Method, given: DeepPartial<unknown>): object {
  const { name, requestType } = method;
  let bytes: Buffer;
  try {
    bytes = Buffer.from(requestType.encode(requestType.fromPartial(given)).finish());
  } catch (cause) {
    const metadata = { method: name };
    throw new QuireError("MALFORMED_REQUEST", `what was given is no request of ${name}`, { metadata, cause });
  }
  return new WireRequest(bytes, method).open();
}

/** The response as a message, where the command gives bytes. */
function asMessage({ responseType }: Method, response: unknown): unknown {
  return Array.isArray(response) ? responseType.decode(Buffer.concat(response)) : response;
}
