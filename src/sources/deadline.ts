import type { Timers } from "../domain/clock.js";

/** What a deadline ends, if nothing else has. */
export interface Timed {
  timeOut(isGivenUp: boolean): void;
}

/**
 * The time that some sources have. What costs something is made when somebody needs it: a timer where calls are still open when those
 * that answer at once have answered, a signal where a source looks at it.
 */
export class Deadline {
  private readonly calls: Timed[] = [];
  private open = 0;
  private controller: AbortController | undefined;
  private timer: { cancel(): void } | undefined;
  private unlisten: (() => void) | undefined;
  private isStarted = false;
  private isOver = false;

  constructor(readonly ms: number) {}

  get isOpen(): boolean {
    return this.open > 0;
  }

  /** Aborts when the answers are no longer waited for. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.isOver) this.controller.abort();
    return this.controller.signal;
  }

  start(timers: Timers, signal: AbortSignal | undefined): void {
    this.isStarted = true;
    if (!this.isOpen) return;
    if (signal?.aborted) {
      this.end(true);
      return;
    }
    if (signal) {
      const giveUp = () => this.end(true);
      signal.addEventListener("abort", giveUp, { once: true });
      this.unlisten = () => signal.removeEventListener("abort", giveUp);
    }
    this.timer = timers.after(this.ms, () => this.end(false));
  }

  /** Ends the call when the time is over. Whatever ends it must say so with `done`. */
  watch(call: Timed): void {
    this.calls.push(call);
    this.open++;
  }

  done(): void {
    this.open--;
    if (this.isStarted && !this.isOpen) this.stop();
  }

  private end(isGivenUp: boolean): void {
    this.stop();
    this.isOver = true;
    for (const call of this.calls) call.timeOut(isGivenUp);
    // Last, so that what a source does about it changes nothing any more.
    this.controller?.abort();
  }

  private stop(): void {
    this.timer?.cancel();
    this.unlisten?.();
  }
}
