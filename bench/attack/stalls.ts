/** The longest time that an event loop was not free; and the longest of which the process had the CPU for its work, so that a busy machine is not to blame. */
export interface Stall {
  readonly ms: number;
  readonly workMs: number;
}

const periodMs = 10;
const reportMs = 100;

/**
 * Watches the event loop of this process and tells the parent of its longest stall so far, ten times a second: a report that is late is
 * itself a stall. The message "reset" begins anew.
 */
export function reportStalls(): void {
  let [ms, workMs] = [0, 0];
  let [last, lastCpu, reported] = [performance.now(), process.cpuUsage(), 0];
  setInterval(() => {
    const now = performance.now();
    const { user, system } = process.cpuUsage(lastCpu);
    const lateMs = now - last - periodMs;
    ms = Math.max(ms, lateMs);
    workMs = Math.max(workMs, Math.min(lateMs, (user + system) / 1_000));
    [last, lastCpu] = [now, process.cpuUsage()];
    if (now - reported < reportMs) return;
    reported = now;
    process.send?.({ stall: { ms, workMs } });
  }, periodMs).unref();
  process.on("message", (message) => {
    if (message === "reset") [ms, workMs] = [0, 0];
  });
}
