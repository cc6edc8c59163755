import type { handleServerStreamingCall } from "@grpc/grpc-js";
import type { StreamRpc } from "../rpc.js";
import type { WireRequest } from "../wire-request.js";
import type { CallDeps } from "./call-deps.js";
import { runCall } from "./run-call.js";
import { SendRoom } from "./send-room.js";

/**
 * A server-streaming RPC as grpc-js takes it. The next response is made only when the client has room for it. A call that waits
 * for its client is no longer counted as at work, nor is one that has no end of its own.
 */
export function streamCall(deps: CallDeps, rpc: StreamRpc): handleServerStreamingCall<WireRequest, unknown> {
  return (call) => {
    runCall(deps, rpc, call, async (request, context, leave) => {
      const { signal } = context;
      const room = new SendRoom(call, signal, leave);
      for await (const response of rpc.handle(request, context)) {
        signal.throwIfAborted();
        await room.send(response);
        // From its first answer on it only waits.
        if (rpc.isEndless) leave();
      }
      signal.throwIfAborted();
    }).then(
      () => call.end(),
      (error) => call.emit("error", error),
    );
  };
}
