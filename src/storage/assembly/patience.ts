interface Waiter {
  hasBeenSeen: boolean;
  readonly giveUp: () => void;
}

/**
 * Waits for work, but not for ever. One timer for all who wait, which is set only while somebody does: most work is done at once, and a
 * timer of its own would cost as much. Whoever waits for the second time when it runs out is sent away, so after once to twice its time.
 */
export class Patience {
  private readonly waiters = new Set<Waiter>();
  private isTimerSet = false;

  constructor(private readonly setTimer: (ranOut: () => void) => void) {}

  /** Resolves when the work is done, or when it takes too long. */
  wait(work: Promise<void>): Promise<void> {
    return new Promise((done) => {
      const waiter = { hasBeenSeen: false, giveUp: done };
      this.waiters.add(waiter);
      this.set();
      work.then(() => {
        this.waiters.delete(waiter);
        done();
      });
    });
  }

  private set(): void {
    if (this.isTimerSet) return;
    this.isTimerSet = true;
    this.setTimer(() => this.look());
  }

  private look(): void {
    this.isTimerSet = false;
    for (const waiter of this.waiters) {
      if (waiter.hasBeenSeen) {
        this.waiters.delete(waiter);
        waiter.giveUp();
      }
      waiter.hasBeenSeen = true;
    }
    if (this.waiters.size > 0) this.set();
  }
}
