const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal aborts, at once if it has. Returns what ends that. For signals that thousands listen to: Node looks
 * through all listeners of an event to add or to remove one.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => undefined;
  }
  let all = listeners.get(signal);
  if (!all) {
    all = new Set();
    listeners.set(signal, all);
    signal.addEventListener("abort", () => {
      for (const each of [...(listeners.get(signal) ?? [])]) each();
    });
  }
  const known = all;
  known.add(listener);
  return () => {
    known.delete(listener);
  };
}
