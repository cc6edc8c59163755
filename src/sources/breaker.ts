/** After how many failures in a row a source is left alone, and for how long. */
export interface BreakerLimits {
  readonly failures: number;
  readonly restMs: number;
}

export const usualLimits: BreakerLimits = { failures: 3, restMs: 10_000 };

/**
 * Leaves a source alone that fails again and again. When its rest is over, one call is let through: if that works, all are; if not, it
 * rests again.
 */
export class Breaker {
  private inARow = 0;
  private restsUntilMs: number | undefined;
  private isTrying = false;

  constructor(private readonly limits: BreakerLimits = usualLimits) {}

  get isOpen(): boolean {
    return this.restsUntilMs !== undefined;
  }

  /** Whether a call may go ahead; one that does must be followed by `worked` or `failed`. */
  allows(nowMs: number): boolean {
    if (this.restsUntilMs === undefined) return true;
    if (nowMs < this.restsUntilMs || this.isTrying) return false;
    this.isTrying = true;
    return true;
  }

  worked(): void {
    this.inARow = 0;
    this.restsUntilMs = undefined;
    this.isTrying = false;
  }

  failed(nowMs: number): void {
    this.inARow++;
    this.isTrying = false;
    if (this.inARow >= this.limits.failures) this.restsUntilMs = nowMs + this.limits.restMs;
  }

  /** A call that was given up for no fault of the source. */
  gaveUp(): void {
    this.isTrying = false;
  }
}
