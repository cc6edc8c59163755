import { setImmediate as nextTurn } from "node:timers/promises";

/** So long the event loop is held at most, by all who pause together. */
const longestMs = 10;

/** When somebody first looked at the time in this turn of the event loop; undefined before. */
let lookedMs: number | undefined;

function heldMs(): number {
  const now = performance.now();
  if (lookedMs === undefined) {
    lookedMs = now;
    setImmediate(() => {
      lookedMs = undefined;
    });
  }
  return now - lookedMs;
}

/**
 * A function to be called between the steps of long work: it gives way to the event loop when that was held too long. When that
 * happens depends on the machine; what the work gives must not.
 */
export function pausing(signal?: AbortSignal): () => Promise<void> | undefined {
  heldMs();
  return () => {
    if (heldMs() < longestMs) return undefined;
    return nextTurn().then(() => signal?.throwIfAborted());
  };
}
