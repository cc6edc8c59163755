import { QuireError } from "../../errors/quire-error.js";
import type { TakeCall } from "../admission/admission.js";
import { type EncodedResponse, encodedResponse, size } from "../encoded-response.js";
import type { Method } from "../method.js";
import type { UnaryRpc } from "../rpc.js";
import { toServiceError } from "../status.js";
import type { CallDeps } from "./call-deps.js";
import { runCall } from "./run-call.js";

/** What clients take in one message where nobody told them otherwise. */
const largestBytes = 4 * 1024 * 1024;

/** The calls that send in pieces what others send whole. */
const inPieces: ReadonlyMap<string, string> = new Map([
  ["BuildContext", "Assemble"],
  ["GetTurn", "StreamHistory"],
]);

/** A client's own refusal would not say what else it could call. */
function requireSize({ name }: Method, response: EncodedResponse): EncodedResponse {
  const use = inPieces.get(name);
  const bytes = use === undefined ? 0 : size(response);
  if (bytes <= largestBytes) return response;
  throw new QuireError(
    "RESPONSE_TOO_LARGE",
    `the answer has ${bytes} bytes: use ${use}, which sends it in pieces`,
    {
      metadata: { bytes: String(bytes), max: String(largestBytes), use: use! },
    },
  );
}

/** Takes the calls of a unary RPC. */
export function unaryCall(deps: CallDeps, rpc: UnaryRpc): TakeCall {
  const { method, handle } = rpc;
  return (call, wire) => {
    runCall(deps, rpc, call, wire, async (request, context) =>
      requireSize(method, encodedResponse(method, await handle(request, context))),
    )
      .then((answer) => call.answer(answer))
      .catch((error) => call.end(error instanceof QuireError ? toServiceError(error) : error));
  };
}
