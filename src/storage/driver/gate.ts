import { DriverAdapterError } from "@prisma/driver-adapter-utils";

interface Waiter {
  readonly enter: () => void;
  readonly fail: (error: Error) => void;
}

/**
 * Lets one holder at a time use a connection, in the order of arrival: a transaction from its begin to its end, or
 * one plain query. Without it a plain query would run inside whatever transaction is open, read what is not
 * committed and be rolled back with it.
 */
export class Gate {
  private readonly waiters = new Set<Waiter>();
  private isHeld = false;

  /** A wait longer than `waitMs` fails: as a rule its holder waits, in turn, for the one that waits. */
  constructor(private readonly waitMs: number) {}

  /** Enters at once if nobody is inside. */
  tryEnter(): boolean {
    if (this.isHeld) return false;
    this.isHeld = true;
    return true;
  }

  enter(): Promise<void> {
    if (this.tryEnter()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        clearTimeout(timer);
        this.waiters.delete(waiter);
        reject(error);
      };
      const enter = (): void => {
        clearTimeout(timer);
        this.waiters.delete(waiter);
        resolve();
      };
      const waiter: Waiter = { enter, fail };
      const timer = setTimeout(() => fail(new DriverAdapterError({ kind: "SocketTimeout" })), this.waitMs);
      this.waiters.add(waiter);
    });
  }

  /** Leaves; the gate passes to the first in line without opening in between. */
  leave(): void {
    const [next] = this.waiters;
    if (next === undefined) this.isHeld = false;
    else next.enter();
  }

  /** Turns away everyone in line. */
  refuse(error: Error): void {
    for (const waiter of [...this.waiters]) waiter.fail(error);
  }
}
