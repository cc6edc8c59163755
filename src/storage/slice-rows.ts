const fewest = 4;
const most = 100;
const tooLongMs = 8;
const shortMs = 3;

/** How many rows to take at once, so that each time takes a few milliseconds: rows differ in size, and machines in speed. */
export class SliceRows {
  private rows = 16;

  get count(): number {
    return this.rows;
  }

  /** What the last ones took. */
  took(ms: number): void {
    if (ms > tooLongMs) this.rows = Math.max(fewest, this.rows >> 1);
    else if (ms < shortMs) this.rows = Math.min(most, this.rows * 2);
  }
}
