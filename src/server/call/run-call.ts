import type { Leave } from "../admission/call-slots.js";
import type { Rpc } from "../rpc.js";
import type { ServerCall } from "../transport/server-call.js";
import type { WireRequest } from "../wire-request.js";
import { atWork } from "./at-work.js";
import { type CallContext, defaultTenantId } from "./call-context.js";
import type { CallDeps } from "./call-deps.js";
import { callSignal } from "./call-signal.js";
import { failureOf } from "./early-end.js";
import { openRequest } from "./open-request.js";
import { reportFailure } from "./report-failure.js";

type Work<T> = (request: object, context: CallContext, leave: Leave) => Promise<T>;

/** One call: a place at work, decoding, validation, the work itself, and one way for every failure. Rejects with a ServiceError. */
export async function runCall<T>(
  deps: CallDeps,
  rpc: Rpc,
  call: ServerCall,
  wire: WireRequest,
  work: Work<T>,
): Promise<T> {
  const { clock, logger } = deps;
  const { name } = rpc.method;
  const started = clock.now();
  const isEndless = rpc.kind === "stream" && rpc.isEndless;
  const { signal, release } = callSignal(call, isEndless ? deps.draining : deps.stopping, isEndless);
  let aside: ReturnType<typeof callSignal> | undefined;
  try {
    const answer = await atWork(deps.admission, wire, signal, async (leave) => {
      const request = await openRequest(deps, rpc, wire, signal);
      const stepAside = () => {
        leave();
        aside ??= callSignal(call, deps.draining, isEndless);
        return aside.signal;
      };
      const { deadlineMs } = call;
      return work(request, { tenantId: defaultTenantId, signal, deadlineMs, stepAside }, leave);
    });
    logger.debug({ method: name, ms: clock.now() - started }, "call done");
    return answer;
  } catch (thrown) {
    const ms = clock.now() - started;
    throw reportFailure(deps, failureOf(thrown, signal), { method: name, ms, cancelled: call.wasLeft });
  } finally {
    release();
    aside?.release();
  }
}
