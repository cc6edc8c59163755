import type { CallContext } from "./call/call-context.js";
import type { Method } from "./method.js";

interface AnyRpc {
  readonly method: Method;
  readonly validate: (request: object) => void;
}

/** One RPC without a transport: what a request must be, and what is done with it. */
export interface UnaryRpc extends AnyRpc {
  readonly kind: "unary";
  readonly handle: (request: object, context: CallContext) => Promise<unknown>;
}

/** An RPC that answers with a stream. One that is endless has no end of its own: it ends as soon as the server is told to stop. */
export interface StreamRpc extends AnyRpc {
  readonly kind: "stream";
  readonly isEndless: boolean;
  readonly handle: (request: object, context: CallContext) => AsyncIterable<unknown>;
}

export type Rpc = UnaryRpc | StreamRpc;
