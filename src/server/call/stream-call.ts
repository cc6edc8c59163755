import type { TakeCall } from "../admission/admission.js";
import { encodedResponse } from "../encoded-response.js";
import type { StreamRpc } from "../rpc.js";
import type { CallDeps } from "./call-deps.js";
import { runCall } from "./run-call.js";
import { SendRoom } from "./send-room.js";

/**
 * Takes the calls of an RPC that answers with a stream. The next response is made only when the client has room for it. A call that
 * waits for its client is no longer counted as at work, nor is one that has no end of its own.
 */
export function streamCall(deps: CallDeps, rpc: StreamRpc): TakeCall {
  const { method, handle, isEndless } = rpc;
  return (call, wire) => {
    runCall(deps, rpc, call, wire, async (request, context, leave) => {
      const { signal } = context;
      const room = new SendRoom(call, signal, leave);
      for await (const response of handle(request, context)) {
        signal.throwIfAborted();
        await room.send(encodedResponse(method, response));
        // From its first answer on it only waits.
        if (isEndless) leave();
      }
      signal.throwIfAborted();
    }).then(
      () => call.end(),
      (error) => call.end(error),
    );
  };
}
