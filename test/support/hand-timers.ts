import { EventEmitter, once } from "node:events";
import type { Timers } from "../../src/domain/clock.js";

/** Timers that run out when a test says so, and never by themselves. */
export interface HandTimers extends Timers {
  /** Resolves when so many are set, of those with at least so much time. */
  set(count: number, leastMs?: number): Promise<void>;
  /** The one with the least time runs out, of those with at least so much. */
  runOutNext(leastMs?: number): void;
}

export function handTimers(): HandTimers {
  const waiting = new Set<{ readonly ms: number; readonly callback: () => void }>();
  const changes = new EventEmitter();
  return {
    after(ms, callback) {
      const timer = { ms, callback };
      waiting.add(timer);
      changes.emit("set");
      return { cancel: () => void waiting.delete(timer) };
    },
    async set(count, leastMs = 0) {
      const long = () => [...waiting].filter(({ ms }) => ms >= leastMs);
      while (long().length < count) await once(changes, "set");
    },
    runOutNext(leastMs = 0) {
      const [next] = [...waiting].filter(({ ms }) => ms >= leastMs).sort((a, b) => a.ms - b.ms);
      if (!next) throw new Error("no timer is set");
      waiting.delete(next);
      next.callback();
    },
  };
}
