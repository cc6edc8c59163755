import { QuireError } from "../../errors/quire-error.js";

/** Ends a call's stay at work. Calling it again does nothing. */
export type Leave = () => void;

/**
 * Reads from the embedded database never leave the turn of the event loop that they start in. Others must be heard in
 * between, above all those who cancel.
 */
const maxStartsPerTurn = 32;
/** So many of a connection's calls may wait, however many wait in all. */
const alwaysMayWait = 16;

interface Waiting {
  readonly admit: () => void;
}

/**
 * How many calls are at work. One connection gets half of the places at most. The others wait, and those who wait are let in
 * connection by connection, so that a connection with a thousand calls does not keep the first call of another waiting.
 */
export class CallSlots {
  private atWork = 0;
  private waitingCalls = 0;
  private startedThisTurn = 0;
  private isTurning = false;
  private readonly atWorkBy = new Map<object, number>();
  private readonly waiting = new Map<object, Set<Waiting>>();
  private readonly maxPerConnection: number;
  private readonly maxWaiting: number;

  constructor(private readonly max: number) {
    this.maxPerConnection = Math.ceil(max / 2);
    this.maxWaiting = 16 * max;
  }

  /** A place, at once or when it is the call's turn. What is cancelled meanwhile takes none. */
  enter(connection: object, signal: AbortSignal): Leave | Promise<Leave> {
    if (this.hasPlaceFor(connection) && !this.waiting.has(connection)) return this.take(connection);
    const ownWaiting = this.waiting.get(connection)?.size ?? 0;
    if (this.waitingCalls >= this.maxWaiting && ownWaiting >= alwaysMayWait) throw this.busy();
    return new Promise<Leave>((resolve, reject) => {
      const entry = {
        admit: () => {
          signal.removeEventListener("abort", giveUp);
          resolve(this.take(connection));
        },
      };
      const giveUp = () => {
        this.remove(connection, entry);
        reject(signal.reason);
      };
      signal.addEventListener("abort", giveUp);
      const queue = this.waiting.get(connection) ?? new Set();
      this.waiting.set(connection, queue.add(entry));
      this.waitingCalls++;
    });
  }

  private hasPlaceFor(connection: object): boolean {
    return (
      this.startedThisTurn < maxStartsPerTurn &&
      this.atWork < this.max &&
      (this.atWorkBy.get(connection) ?? 0) < this.maxPerConnection
    );
  }

  private take(connection: object): Leave {
    this.atWork++;
    this.startedThisTurn++;
    this.afterTurn();
    this.atWorkBy.set(connection, (this.atWorkBy.get(connection) ?? 0) + 1);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      this.atWork--;
      const left = this.atWorkBy.get(connection)! - 1;
      if (left > 0) this.atWorkBy.set(connection, left);
      else this.atWorkBy.delete(connection);
      this.afterTurn();
    };
  }

  private afterTurn(): void {
    if (this.isTurning) return;
    this.isTurning = true;
    setImmediate(() => {
      this.isTurning = false;
      this.startedThisTurn = 0;
      while (this.waitingCalls > 0 && this.admitNext());
    });
  }

  private admitNext(): boolean {
    for (const [connection, queue] of this.waiting) {
      if (!this.hasPlaceFor(connection)) continue;
      const [next] = queue;
      this.remove(connection, next!);
      // To the end of the line, for its others.
      if (this.waiting.delete(connection)) this.waiting.set(connection, queue);
      next!.admit();
      return true;
    }
    return false;
  }

  private remove(connection: object, entry: Waiting): void {
    const queue = this.waiting.get(connection);
    if (!queue?.delete(entry)) return;
    this.waitingCalls--;
    if (queue.size === 0) this.waiting.delete(connection);
  }

  private busy(): QuireError {
    return new QuireError(
      "SERVER_BUSY",
      "the server has as many calls in work as it takes; try again later",
      {
        metadata: { limit: "concurrent_calls", max: String(this.max) },
        retryAfterMs: 1_000,
      },
    );
  }
}
