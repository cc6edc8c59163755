const maxMs = 10;

/**
 * Calls that wait for no I/O can follow one another without a turn of the event loop, and timers, sockets and the queue of
 * writes would wait for ever. After a few milliseconds of that, a call ends in the next turn.
 */
export class EventLoopBreaks {
  private begunMs: number | undefined;

  /** Undefined while this turn is short. */
  nextIfDue(): Promise<void> | undefined {
    const nowMs = performance.now();
    if (this.begunMs === undefined) {
      this.begunMs = nowMs;
      setImmediate(() => {
        this.begunMs = undefined;
      });
      return undefined;
    }
    return nowMs - this.begunMs < maxMs ? undefined : new Promise((resolve) => setImmediate(resolve));
  }
}
