import { readFileSync } from "node:fs";

/**
 * The longest time that an event loop was not free; the longest of it that was its own: less what its thread waited for a CPU that others had; and the longest
 * that it was at work on a CPU. What is its own and no work is a wait for the disk, or for a machine that others share.
 */
export interface Stall {
  readonly ms: number;
  readonly ownMs: number;
  readonly workMs: number;
}

export const noStall: Stall = { ms: 0, ownMs: 0, workMs: 0 };

const periodMs = 10;
const reportMs = 100;

/** Watches the event loop of this process. */
export class StallWatch {
  longest = noStall;

  constructor(onLook: () => void = () => undefined) {
    let last = performance.now();
    let lastTimes = threadTimes();
    setInterval(() => {
      const now = performance.now();
      const times = threadTimes();
      const lateMs = now - last - periodMs;
      const ownMs = lateMs - (times.waitedMs - lastTimes.waitedMs);
      const workMs = Math.min(lateMs, times.workedMs - lastTimes.workedMs);
      const { longest } = this;
      this.longest = {
        ms: Math.max(longest.ms, lateMs),
        ownMs: Math.max(longest.ownMs, ownMs),
        workMs: Math.max(longest.workMs, workMs),
      };
      last = now;
      lastTimes = times;
      onLook();
    }, periodMs).unref();
  }

  reset(): void {
    this.longest = noStall;
  }
}

/**
 * Tells the parent of the longest stall of this process so far, ten times a second: a report that is late is itself a stall. The
 * message "reset" begins anew.
 */
export function reportStalls(): void {
  let reported = 0;
  const watch = new StallWatch(() => {
    if (performance.now() - reported < reportMs) return;
    reported = performance.now();
    process.send?.({ stall: watch.longest });
  });
  process.on("message", (message) => {
    if (message === "reset") watch.reset();
  });
}

/** How long the main thread was on a CPU, and how long it was ready to run and had none; 0 where the system does not tell. */
function threadTimes(): { readonly workedMs: number; readonly waitedMs: number } {
  try {
    const [worked, waited] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
    return { workedMs: Number(worked) / 1e6, waitedMs: Number(waited) / 1e6 };
  } catch {
    return { workedMs: 0, waitedMs: 0 };
  }
}
