import { QuireError } from "../../errors/quire-error.js";
import type { TakeCall } from "../admission/admission.js";
import { encodedResponse } from "../encoded-response.js";
import type { UnaryRpc } from "../rpc.js";
import { toServiceError } from "../status.js";
import type { CallDeps } from "./call-deps.js";
import { runCall } from "./run-call.js";

/** Takes the calls of a unary RPC. */
export function unaryCall(deps: CallDeps, rpc: UnaryRpc): TakeCall {
  const { method, handle } = rpc;
  return (call, wire) => {
    runCall(deps, rpc, call, wire, async (request, context) =>
      encodedResponse(method, await handle(request, context)),
    )
      .then((answer) => call.answer(answer))
      .catch((error) => call.end(error instanceof QuireError ? toServiceError(error) : error));
  };
}
