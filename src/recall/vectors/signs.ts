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

/** Signs stand in words of so many. */
const bitsPerWord = 32;

export function wordsOfSigns(dimensions: number): number {
  return Math.ceil(dimensions / bitsPerWord);
}

/** Writes which numbers of a vector are above the mean. */
export function signsOf({ mean }: Typical, { values, signs }: VectorRows, row: number): void {
  const dimensions = mean.length;
  const words = wordsOfSigns(dimensions);
  for (let word = 0, at = 0; word < words; word++) {
    let bits = 0;
    for (let bit = 0; bit < bitsPerWord && at < dimensions; bit++, at++)
      if (values[row * dimensions + at]! > mean[at]!) bits |= 1 << bit;
    signs[row * words + word] = bits;
  }
}

/** What the largest number of a query counts, so that eight of them are an entry of the table. */
const largestShare = 4_095;

/**
 * About what the cosine with a query is, from the signs alone: a sum of one entry a byte, from a table that has what each byte comes
 * to, in integers so small that the table stays in the processor's nearest cache.
 */
export class SignEstimate {
  private readonly table: Int16Array;
  private readonly words: number;
  private readonly base: number;
  /** What a step of the integers stands for. */
  private readonly unit: number;

  constructor(query: Float32Array, { mean, distance }: Typical) {
    this.words = wordsOfSigns(query.length);
    const bytes = this.words * 4;
    this.base = dot(mean, 0, query);
    let largest = 0;
    for (const value of query) largest = Math.max(largest, Math.abs(value));
    this.unit = (distance * largest) / largestShare || 1;
    this.table = new Int16Array(bytes * 256);
    const shares = new Int32Array(8);
    for (let byte = 0, from = 0; byte < bytes; byte++, from += 256) {
      for (let bit = 0; bit < 8; bit++) {
        shares[bit] = Math.round((distance * (query[byte * 8 + bit] ?? 0)) / this.unit);
        this.table[from]! -= shares[bit]!;
      }
      for (let bits = 1; bits < 256; bits++) {
        const lowest = 31 - Math.clz32(bits & -bits);
        this.table[from + bits] = this.table[from + (bits & (bits - 1))]! + 2 * shares[lowest]!;
      }
    }
  }

  of(signs: Uint32Array, row: number): number {
    const { table, words } = this;
    const end = words * 1_024;
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let entry = 0, word = row * words; entry < end; entry += 1_024) {
      const bits = signs[word++]!;
      a = (a + table[entry + (bits & 255)]!) | 0;
      b = (b + table[entry + 256 + ((bits >>> 8) & 255)]!) | 0;
      c = (c + table[entry + 512 + ((bits >>> 16) & 255)]!) | 0;
      d = (d + table[entry + 768 + (bits >>> 24)]!) | 0;
    }
    return this.base + this.unit * (a + b + c + d);
  }
}
