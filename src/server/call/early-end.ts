import { QuireError } from "../../errors/quire-error.js";

/** Why a call ends before its work is done. */

export function deadlinePassed(): QuireError {
  return new QuireError("DEADLINE_EXCEEDED", "the deadline passed; the work was stopped");
}

export function callerLeft(): QuireError {
  return new QuireError("CANCELLED", "the caller went away; the work was stopped");
}

/** What a call failed with. When the work ended because it was told to, the signal knows best why. */
export function failureOf(thrown: unknown, signal: AbortSignal): QuireError {
  const wasTold = signal.aborted && !(thrown instanceof QuireError && thrown.reason !== "CANCELLED");
  return QuireError.from(wasTold ? signal.reason : thrown);
}
