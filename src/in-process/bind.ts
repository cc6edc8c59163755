import type { handleServerStreamingCall, handleUnaryCall } from "@grpc/grpc-js";
import type { DeepPartial } from "../contract/gen/quire/v1/message.js";
import { QuireError } from "../errors/quire-error.js";
import { tenantId } from "../server/call.js";
import { wireRequest } from "../server/method.js";
import type { StreamRpc, UnaryRpc } from "../server/rpc.js";
import type { Calls } from "./calls.js";

export interface CallOptions {
  /** Stops the call: `AbortSignal.timeout(ms)` is a deadline. */
  readonly signal?: AbortSignal;
}

/** A request with only the fields that matter, and its answer. Rejects with a QuireError. */
export type Call<Request, Response> = (
  request: DeepPartial<Request>,
  options?: CallOptions,
) => Promise<Response>;

/** A request and the events that answer it. The iteration throws a QuireError. */
export type StreamCall<Request, Response> = (
  request: DeepPartial<Request>,
  options?: CallOptions,
) => AsyncIterable<Response>;

/** The methods of a service, documented by the contract. */
export type CallsOf<Service> = {
  readonly [Name in keyof Service as string extends Name ? never : Name]: CallOf<Service[Name]>;
};

type CallOf<Handler> =
  Handler extends handleUnaryCall<infer Request, infer Response>
    ? Call<Request, Response>
    : Handler extends handleServerStreamingCall<infer Request, infer Response>
      ? StreamCall<Request, Response>
      : never;

type AnyRpc = UnaryRpc<never, unknown> | StreamRpc<never, unknown>;

/** A `Method` of which no more is known than that its parts fit together. */
interface AnyMethod {
  fromPartial(given: DeepPartial<never>): unknown;
  requestSerialize(request: never): Buffer;
  requestDeserialize(bytes: Buffer): unknown;
  responseSerialize(response: never): Buffer;
  responseDeserialize(bytes: Buffer): unknown;
}

/** The RPCs of a service as methods: the same checks and the same work as over the wire. */
export function bind<Service>(
  calls: Calls,
  service: { readonly [name: string]: AnyMethod },
  rpcs: { readonly [name: string]: AnyRpc },
): CallsOf<Service> {
  const bound = Object.entries(rpcs).map(([name, rpc]) => [name, bindOne(calls, service[name]!, rpc)]);
  return Object.fromEntries(bound) as CallsOf<Service>;
}

function bindOne(
  calls: Calls,
  method: AnyMethod,
  rpc: AnyRpc,
): Call<never, unknown> | StreamCall<never, unknown> {
  const checked = (given: DeepPartial<never>): never => {
    const request = received(method, rpc.name, given);
    rpc.validate(request);
    return request;
  };
  if (rpc.kind === "unary") {
    return (given, options = {}) =>
      calls.answer(options.signal, async (signal) =>
        message(method, await rpc.handle(checked(given), { tenantId, signal })),
      );
  }
  return (given, options = {}) =>
    calls.stream(options.signal, async function* (signal) {
      for await (const response of rpc.handle(checked(given), { tenantId, signal }))
        yield message(method, response);
    });
}

/**
 * The request as a server would have received it. Encoding it finds values that are not of their type, and makes it the
 * engine's own, so that a caller may go on changing what it gave.
 */
function received(method: AnyMethod, name: string, given: DeepPartial<never>): never {
  let bytes: Buffer;
  try {
    bytes = method.requestSerialize(method.fromPartial(given) as never);
  } catch (cause) {
    const metadata = { method: name };
    throw new QuireError("MALFORMED_REQUEST", `what was given is no request of ${name}`, { metadata, cause });
  }
  return wireRequest(method.requestDeserialize(bytes)).open(name) as never;
}

/** The response as a message, where the handler gives bytes. */
function message(method: AnyMethod, response: unknown): unknown {
  return Array.isArray(response)
    ? method.responseDeserialize(method.responseSerialize(response as never))
    : response;
}
