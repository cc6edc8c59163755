import { QuireError } from "./quire-error.js";

const firstPauseMs = 50;
const longestPauseMs = 2_000;

/**
 * Whether the same call may succeed if it is made again: the server was not reached, or the connection broke; or it says so itself
 * (SERVER_BUSY, SHUTTING_DOWN, STORAGE_UNAVAILABLE, COMMIT_OUTCOME_UNKNOWN). SESSION_BUSY is for the caller to decide: `onBusy` is how it
 * does.
 */
export function mayRetry({ code, reason, retryAfterMs }: QuireError): boolean {
  if (reason === "SESSION_BUSY") return false;
  if (retryAfterMs !== undefined) return true;
  // Without a reason, it is not Quire's server that answered: a connection was refused, reset or closed.
  return reason === "" && (code === "UNAVAILABLE" || code === "INTERNAL");
}

/** Calls until it succeeds, fails for good, or time is up; each call is told how long it has. */
export async function withRetries<T>(
  call: (leftMs: number) => Promise<T>,
  { signal, timeoutMs }: { readonly signal?: AbortSignal | undefined; readonly timeoutMs: number },
): Promise<T> {
  const endAt = performance.now() + timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return await call(Math.max(1, endAt - performance.now()));
    } catch (thrown) {
      const error = QuireError.from(thrown);
      // Not all at once: others lost the same server.
      const waitMs = Math.max(error.retryAfterMs ?? 0, pauseMs * (0.5 + Math.random() / 2));
      if (signal?.aborted || !mayRetry(error) || performance.now() + waitMs > endAt) throw error;
      await pause(waitMs, signal);
    }
  }
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
  });
}
