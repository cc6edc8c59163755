import { dot } from "./dot.js";
import type { VectorRows } from "./vector-rows.js";

/** What vectors of a set have in common: the mean of each number, and how far from it they are on the whole. Cloned as it is. */
export class Typical {
  constructor(
    readonly mean: Float32Array,
    readonly distance: number,
  ) {}

  static of(rows: readonly VectorRows[], dimensions: number): Typical {
    const sums = new Float64Array(dimensions);
    let count = 0;
    const each = (look: (value: number, at: number) => void) => {
      for (const { ids, values, count: filled } of rows)
        for (let row = 0; row < filled; row++)
          if (ids[row] !== 0)
            for (let at = 0; at < dimensions; at++) look(values[row * dimensions + at]!, at);
    };
    for (const { ids, count: filled } of rows)
      for (let row = 0; row < filled; row++) if (ids[row] !== 0) count++;
    each((value, at) => {
      sums[at]! += value;
    });
    const mean = Float32Array.from(sums, (sum) => sum / Math.max(1, count));
    let distance = 0;
    each((value, at) => {
      distance += Math.abs(value - mean[at]!);
    });
    return new Typical(mean, distance / Math.max(1, count * dimensions));
  }
}

export function bytesOfSigns(dimensions: number): number {
  return Math.ceil(dimensions / 8);
}

/** Writes which numbers of a vector are above the mean. */
export function signsOf({ mean }: Typical, { values, signs }: VectorRows, row: number): void {
  const dimensions = mean.length;
  const bytes = bytesOfSigns(dimensions);
  for (let byte = 0; byte < bytes; byte++) {
    let bits = 0;
    for (let bit = 0; bit < 8 && byte * 8 + bit < dimensions; bit++) {
      const at = byte * 8 + bit;
      if (values[row * dimensions + at]! > mean[at]!) bits |= 1 << bit;
    }
    signs[row * bytes + byte] = bits;
  }
}

/**
 * About what the cosine with a query is, from the signs alone: a sum of one entry a byte, from a table that has what each byte comes
 * to. A twelfth of the work of the cosine itself.
 */
export class SignEstimate {
  private readonly table: Float32Array;
  private readonly bytes: number;
  private readonly base: number;

  constructor(query: Float32Array, { mean, distance }: Typical) {
    this.bytes = bytesOfSigns(query.length);
    this.base = dot(mean, 0, query);
    this.table = new Float32Array(this.bytes * 256);
    for (let byte = 0; byte < this.bytes; byte++) {
      const shareOf = (bit: number) => distance * (query[byte * 8 + bit] ?? 0);
      let none = 0;
      for (let bit = 0; bit < 8; bit++) none -= shareOf(bit);
      this.table[byte * 256] = none;
      for (let bits = 1; bits < 256; bits++) {
        const lowest = 31 - Math.clz32(bits & -bits);
        this.table[byte * 256 + bits] = this.table[byte * 256 + (bits & (bits - 1))]! + 2 * shareOf(lowest);
      }
    }
  }

  of(signs: Uint8Array, row: number): number {
    const { table, bytes } = this;
    const start = row * bytes;
    let a = this.base;
    let b = 0;
    let at = 0;
    for (; at + 1 < bytes; at += 2) {
      a += table[at * 256 + signs[start + at]!]!;
      b += table[at * 256 + 256 + signs[start + at + 1]!]!;
    }
    if (at < bytes) a += table[at * 256 + signs[start + at]!]!;
    return a + b;
  }
}
