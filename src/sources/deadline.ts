import type { Timers } from "../domain/clock.js";

/** The time that some sources have. */
export class Deadline {
  private readonly controller = new AbortController();
  private readonly waiting = new Set<() => void>();
  private timer: { cancel(): void } | undefined;
  private unlisten: (() => void) | undefined;
  private isStarted = false;
  /** Whether the call was given up, which is no fault of the source. */
  isGivenUp = false;

  constructor(readonly ms: number) {}

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  start(timers: Timers, signal: AbortSignal | undefined): void {
    this.isStarted = true;
    if (this.waiting.size === 0) return;
    const giveUp = () => {
      this.isGivenUp = true;
      this.end();
    };
    if (signal?.aborted) {
      giveUp();
      return;
    }
    if (signal) {
      signal.addEventListener("abort", giveUp, { once: true });
      this.unlisten = () => signal.removeEventListener("abort", giveUp);
    }
    this.timer = timers.after(this.ms, () => this.end());
  }

  /** Calls back when the time is over, unless the returned function is called before. */
  onEnd(callback: () => void): () => void {
    this.waiting.add(callback);
    return () => {
      this.waiting.delete(callback);
      if (this.isStarted && this.waiting.size === 0) this.stop();
    };
  }

  private end(): void {
    const late = [...this.waiting];
    this.waiting.clear();
    this.stop();
    for (const callback of late) callback();
    // Last, so that what a source does about it changes nothing any more.
    this.controller.abort();
  }

  private stop(): void {
    this.timer?.cancel();
    this.unlisten?.();
  }
}
