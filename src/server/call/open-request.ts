import { openLarge } from "../large-request.js";
import type { Rpc } from "../rpc.js";
import type { WireRequest } from "../wire-request.js";
import type { CallDeps } from "./call-deps.js";

/** Above this size a request takes long enough to be felt by others. */
const largeBytes = 1024 * 1024;

/** The request, decoded and found valid. */
export function openRequest(
  { admission, offload }: CallDeps,
  { validate }: Rpc,
  wire: WireRequest,
  signal: AbortSignal,
): object | Promise<object> {
  if (wire.size > largeBytes) {
    return admission.largeRequests.run(signal, async (nextTurn) => {
      const request = await openLarge(offload, wire, signal);
      await nextTurn();
      return request;
    });
  }
  const request = wire.open();
  validate(request);
  return request;
}
