/** The three best values of each of so many groups. */
export class TopThree {
  private readonly first: Float32Array;
  private readonly second: Float32Array;
  private readonly third: Float32Array;
  private readonly counts: Uint8Array;

  constructor(groups: number) {
    this.first = new Float32Array(groups);
    this.second = new Float32Array(groups);
    this.third = new Float32Array(groups);
    this.counts = new Uint8Array(groups);
  }

  add(group: number, value: number): void {
    const { first, second, third, counts } = this;
    const count = counts[group];
    // It came after the groups were counted.
    if (count === undefined) return;
    if (count < 3) counts[group] = count + 1;
    if (count === 0 || value > first[group]!) {
      third[group] = second[group]!;
      second[group] = first[group]!;
      first[group] = value;
    } else if (count === 1 || value > second[group]!) {
      third[group] = second[group]!;
      second[group] = value;
    } else if (count === 2 || value > third[group]!) third[group] = value;
  }

  /** Of those that there are; 0 for none. */
  mean(group: number): number {
    const count = this.counts[group];
    if (!count) return 0;
    const sum =
      this.first[group]! + (count > 1 ? this.second[group]! : 0) + (count > 2 ? this.third[group]! : 0);
    return sum / count;
  }
}
