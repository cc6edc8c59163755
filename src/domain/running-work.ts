/** Work that goes on, for those who must wait until there is none. */
export class RunningWork {
  private readonly running = new Set<Promise<unknown>>();

  /** Counts it until it is over. */
  track<T>(work: Promise<T>): Promise<T> {
    this.running.add(work);
    const forget = () => this.running.delete(work);
    work.then(forget, forget);
    return work;
  }

  /** Resolves when nothing runs any more, not even what began meanwhile. */
  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.allSettled(this.running);
  }
}
