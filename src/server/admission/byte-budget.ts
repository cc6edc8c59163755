import { QuireError } from "../../errors/quire-error.js";

/** Bytes that are taken until they are given back. Giving them back twice is giving them back once. */
export interface Hold {
  release(): void;
}

interface Waiting {
  readonly bytes: number;
  readonly granted: (hold: Hold) => void;
}

/**
 * A bound on bytes in memory. What finds no room waits, in order, and as much as there is room for may wait; beyond that
 * it is refused. One that is larger than everything is let in alone.
 */
export class ByteBudget {
  private heldBytes = 0;
  private waitingBytes = 0;
  private readonly waiting = new Set<Waiting>();

  constructor(
    private readonly limit: string,
    private readonly maxBytes: number,
  ) {}

  get held(): number {
    return this.heldBytes;
  }

  get hasWaiting(): boolean {
    return this.waiting.size > 0;
  }

  /** Takes bytes without waiting, before those who wait: for what is small. */
  take(bytes: number): Hold {
    if (this.heldBytes > 0 && this.heldBytes + bytes > 2 * this.maxBytes) throw this.busy();
    return this.hold(bytes);
  }

  /** Calls back as soon as there is room, at once if there is. Returns what ends the wait. */
  ask(bytes: number, granted: (hold: Hold) => void): () => void {
    if (this.waiting.size === 0 && this.fits(bytes)) {
      granted(this.hold(bytes));
      return () => undefined;
    }
    if (this.waiting.size > 0 && this.waitingBytes + bytes > this.maxBytes) throw this.busy();
    const entry = { bytes, granted };
    this.waiting.add(entry);
    this.waitingBytes += bytes;
    return () => {
      if (!this.waiting.delete(entry)) return;
      this.waitingBytes -= bytes;
      this.grant();
    };
  }

  private fits(bytes: number): boolean {
    return this.heldBytes === 0 || this.heldBytes + bytes <= this.maxBytes;
  }

  private hold(bytes: number): Hold {
    this.heldBytes += bytes;
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.heldBytes -= bytes;
        this.grant();
      },
    };
  }

  private grant(): void {
    for (const entry of this.waiting) {
      if (!this.fits(entry.bytes)) return;
      this.waiting.delete(entry);
      this.waitingBytes -= entry.bytes;
      entry.granted(this.hold(entry.bytes));
    }
  }

  private busy(): QuireError {
    return new QuireError(
      "SERVER_BUSY",
      "the server has as many bytes in work as it takes; try again later",
      {
        metadata: { limit: this.limit, max: String(this.maxBytes) },
        retryAfterMs: 1_000,
      },
    );
  }
}
