import type { Admission } from "../admission/admission.js";
import type { Leave } from "../admission/call-slots.js";
import type { WireRequest } from "../wire-request.js";

/** Runs a call when there is a place for it. What was cancelled while it waited is never even decoded. */
export function atWork<T>(
  admission: Admission,
  { admitted }: WireRequest,
  signal: AbortSignal,
  work: (leave: Leave) => Promise<T>,
): Promise<T> {
  const run = async () => {
    admitted?.begin();
    let leave: Leave | undefined;
    try {
      leave = await admission.slots.enter(admitted?.connection ?? admission, signal);
      signal.throwIfAborted();
      return await work(leave);
    } finally {
      leave?.();
      admitted?.done();
    }
  };
  return admission.calls.track(run());
}
