/** One after the other, with a turn of the event loop before each, so that others are served in between. */
export class OneAtATime {
  private last: Promise<unknown> = Promise.resolve();

  /** Does a piece of work when those before it are through. `nextTurn` lets others be served in the middle of it. */
  run<T>(signal: AbortSignal, work: (nextTurn: () => Promise<void>) => Promise<T>): Promise<T> {
    const nextTurn = async () => {
      await new Promise((next) => setImmediate(next));
      signal.throwIfAborted();
    };
    const result = this.last.then(nextTurn).then(() => work(nextTurn));
    this.last = result.catch(() => undefined);
    return result;
  }
}
