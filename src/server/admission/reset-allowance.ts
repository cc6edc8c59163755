/** Who cancels everything at once is no flood: a connection has about this many calls. */
const burst = 1_000;
/** Deadlines that pass are resets, too; to drop so many costs next to nothing. */
const perSecond = 100;

/** How many calls a connection may still reset. It fills up again with time. */
export class ResetAllowance {
  private left = burst;
  private asOfMs: number;
  /** All that were reset so far. */
  resets = 0;

  constructor(nowMs: number) {
    this.asOfMs = nowMs;
  }

  /** One more was reset: whether that was one too many. */
  isSpentBy(nowMs: number): boolean {
    this.left = Math.min(burst, this.left + ((nowMs - this.asOfMs) * perSecond) / 1_000);
    this.asOfMs = nowMs;
    this.resets++;
    this.left--;
    return this.left < 0;
  }
}
