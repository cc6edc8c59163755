/**
 * Who cancels hundreds of calls at once is no flood. Both are a little below what nghttp2 allows (1,000, and 33 a second), which
 * closes the connection without a word.
 */
const burst = 900;
const perSecond = 20;

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
