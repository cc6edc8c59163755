import { readFileSync } from "node:fs";

/** The longest time that an event loop was not free; and the longest of it that was its own: less what its thread waited for a CPU that others had. */
export interface Stall {
  readonly ms: number;
  readonly ownMs: number;
}

const periodMs = 10;
const reportMs = 100;

/** Watches the event loop of this process. */
export class StallWatch {
  longest: Stall = { ms: 0, ownMs: 0 };

  constructor(onLook: () => void = () => undefined) {
    let [last, lastWaitedMs] = [performance.now(), waitedForCpuMs()];
    setInterval(() => {
      const [now, waitedMs] = [performance.now(), waitedForCpuMs()];
      const lateMs = now - last - periodMs;
      const ownMs = lateMs - (waitedMs - lastWaitedMs);
      this.longest = { ms: Math.max(this.longest.ms, lateMs), ownMs: Math.max(this.longest.ownMs, ownMs) };
      [last, lastWaitedMs] = [now, waitedMs];
      onLook();
    }, periodMs).unref();
  }

  reset(): void {
    this.longest = { ms: 0, ownMs: 0 };
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

/** How long the main thread was ready to run and had no CPU; 0 where the system does not tell. */
function waitedForCpuMs(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}
