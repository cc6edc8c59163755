import { setImmediate as nextTurn } from "node:timers/promises";

/** So long the event loop is held at most. */
const longestMs = 10;

/**
 * A function to be called between the steps of long work: it gives way to the event loop when that was held too long. When that
 * happens depends on the machine; what the work gives must not.
 */
export function pausing(signal?: AbortSignal): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < longestMs) return undefined;
    return nextTurn().then(() => {
      signal?.throwIfAborted();
      since = performance.now();
    });
  };
}
