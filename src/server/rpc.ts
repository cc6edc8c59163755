import type { handleServerStreamingCall, handleUnaryCall, UntypedServiceImplementation } from "@grpc/grpc-js";
import { type CallContext, type CallDeps, serverStream, unary } from "./call.js";
import type { EncodedResponse } from "./method.js";

/** One RPC without a transport: what a request must be, and what is done with it. */
export interface UnaryRpc<Request, Response> {
  readonly kind: "unary";
  readonly name: string;
  readonly validate: (request: Request) => void;
  readonly handle: (request: Request, context: CallContext) => Promise<Response | EncodedResponse>;
}

/** An RPC that answers with a stream. One without an end of its own is `endless`: it ends as soon as the server is told to stop. */
export interface StreamRpc<Request, Response> {
  readonly kind: "stream";
  readonly name: string;
  readonly validate: (request: Request) => void;
  readonly handle: (request: Request, context: CallContext) => AsyncIterable<Response | EncodedResponse>;
  readonly endless: boolean;
}

/** The RPCs of a service, by the names that its generated interface has. */
export type RpcsOf<Service> = {
  readonly [Name in keyof Service as string extends Name ? never : Name]: RpcOf<Service[Name]>;
};

type RpcOf<Handler> =
  Handler extends handleUnaryCall<infer Request, infer Response>
    ? UnaryRpc<Request, Response>
    : Handler extends handleServerStreamingCall<infer Request, infer Response>
      ? StreamRpc<Request, Response>
      : never;

export function rpc<Request, Response>(
  name: string,
  validate: (request: Request) => void,
  handle: UnaryRpc<Request, Response>["handle"],
): UnaryRpc<Request, Response> {
  return { kind: "unary", name, validate, handle };
}

export function streamRpc<Request, Response>(
  name: string,
  validate: (request: Request) => void,
  handle: StreamRpc<Request, Response>["handle"],
  { endless = false } = {},
): StreamRpc<Request, Response> {
  return { kind: "stream", name, validate, handle, endless };
}

type AnyRpc = UnaryRpc<never, unknown> | StreamRpc<never, unknown>;

/** The RPCs as grpc-js takes them. */
export function grpcHandlers(
  deps: CallDeps,
  rpcs: { readonly [name: string]: AnyRpc },
): UntypedServiceImplementation {
  const bind = (entry: AnyRpc) =>
    entry.kind === "unary"
      ? unary(deps, entry.name, entry.validate, entry.handle)
      : serverStream(deps, entry.name, entry.validate, entry.handle, entry.endless);
  const bound = Object.entries(rpcs).map(([name, entry]) => [name, bind(entry)] as const);
  return Object.fromEntries(bound) as UntypedServiceImplementation;
}
