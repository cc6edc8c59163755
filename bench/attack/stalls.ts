import { readFileSync } from "node:fs";

/** The longest time that an event loop was not free; and the longest of it that was its own: less what its thread waited for a CPU that others had. */
export interface Stall {
  readonly ms: number;
  readonly ownMs: number;
}

const periodMs = 10;
const reportMs = 100;

/**
 * Watches the event loop of this process and tells the parent of its longest stall so far, ten times a second: a report that is late is
 * itself a stall. The message "reset" begins anew.
 */
export function reportStalls(): void {
  let [ms, ownMs] = [0, 0];
  let [last, lastWaitedMs, reported] = [performance.now(), waitedForCpuMs(), 0];
  setInterval(() => {
    const now = performance.now();
    const waitedMs = waitedForCpuMs();
    const lateMs = now - last - periodMs;
    ms = Math.max(ms, lateMs);
    ownMs = Math.max(ownMs, lateMs - (waitedMs - lastWaitedMs));
    [last, lastWaitedMs] = [now, waitedMs];
    if (now - reported < reportMs) return;
    reported = now;
    process.send?.({ stall: { ms, ownMs } });
  }, periodMs).unref();
  process.on("message", (message) => {
    if (message === "reset") [ms, ownMs] = [0, 0];
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
