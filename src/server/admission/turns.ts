/** One after the other, with a turn of the event loop before each, so that others are served in between. */
export class Turns {
  private last: Promise<unknown> = Promise.resolve();

  /** Runs the steps of a piece of work, when those before it are through. The loop turns between the steps, too. */
  run<T>(work: Generator<void, T>, signal: AbortSignal): Promise<T> {
    const result = this.last.then(async () => {
      for (;;) {
        await new Promise((next) => setImmediate(next));
        signal.throwIfAborted();
        const step = work.next();
        if (step.done) return step.value;
      }
    });
    this.last = result.catch(() => undefined);
    return result;
  }
}
