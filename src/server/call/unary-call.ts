import type { handleUnaryCall } from "@grpc/grpc-js";
import type { UnaryRpc } from "../rpc.js";
import type { WireRequest } from "../wire-request.js";
import type { CallDeps } from "./call-deps.js";
import { runCall } from "./run-call.js";

/** A unary RPC as grpc-js takes it. */
export function unaryCall(deps: CallDeps, rpc: UnaryRpc): handleUnaryCall<WireRequest, unknown> {
  return (call, callback) => {
    runCall(deps, rpc, call, rpc.handle).then((response) => callback(null, response), callback);
  };
}
