import type { Clock, Ids } from "../../domain/clock.js";
import type { Offload } from "../../offload/offload.js";
import type { Logger } from "../../telemetry/logger.js";
import type { Admission } from "../admission/admission.js";

export interface CallDeps {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly admission: Admission;
  readonly offload: Offload;
  /** Aborts when the server no longer waits for calls that go on. */
  readonly stopping: AbortSignal;
  /** Aborts when the server is told to stop: calls without an end of their own end then. */
  readonly draining: AbortSignal;
}
