import { readFileSync, readlinkSync } from "node:fs";
import { getHeapStatistics } from "node:v8";

/**
 * Where a worker thread says which thread of the system it is, how much CPU time it had used when its task began, and how much memory it
 * held outside of its heap when that ended.
 */
export type ThreadClockMemory = SharedArrayBuffer;

/** What stands for a thread whose CPU time the system does not tell. */
const untold = -1;

/** In the worker: its task begins. */
export function noteThread(memory: ThreadClockMemory): void {
  const noted = new Float64Array(memory);
  const thread = ownThread();
  noted[1] = usedMs(thread) ?? 0;
  noted[0] = thread;
}

/** In the worker: its task has ended. */
export function noteHeld(memory: ThreadClockMemory): void {
  new Float64Array(memory)[2] = getHeapStatistics().external_memory;
}

/**
 * How much CPU time a worker thread has used for its task, as seen from outside while it is at work. On a busy machine that is far
 * less than the time that goes by. Where the system does not tell, it is the time that goes by.
 */
export class ThreadClock {
  readonly memory: ThreadClockMemory = new SharedArrayBuffer(24);
  private startedAt = 0;

  start(): void {
    new Float64Array(this.memory).fill(0);
    this.startedAt = performance.now();
  }

  get passedMs(): number {
    return performance.now() - this.startedAt;
  }

  /** What the thread held outside of its heap when its task had ended: buffers, and the memory of WebAssembly, which never shrinks. */
  get heldBytes(): number {
    return new Float64Array(this.memory)[2]!;
  }

  get usedMs(): number {
    const [thread, before] = new Float64Array(this.memory) as unknown as [number, number];
    // It has not begun.
    if (thread === 0) return 0;
    const now = usedMs(thread);
    return now === undefined ? this.passedMs : now - before;
  }
}

function ownThread(): number {
  try {
    return Number(readlinkSync("/proc/thread-self").split("/").at(-1));
  } catch {
    return untold;
  }
}

function usedMs(thread: number): number | undefined {
  if (thread === untold) return undefined;
  try {
    return Number(readFileSync(`/proc/self/task/${thread}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    return undefined;
  }
}
