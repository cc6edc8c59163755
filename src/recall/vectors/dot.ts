/** Four sums, so that none waits for the one before it. */
export function dot(values: Float32Array, offset: number, query: Float32Array): number {
  const whole = query.length & ~3;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let at = 0, from = offset; at < whole; at += 4, from += 4) {
    a += values[from]! * query[at]!;
    b += values[from + 1]! * query[at + 1]!;
    c += values[from + 2]! * query[at + 2]!;
    d += values[from + 3]! * query[at + 3]!;
  }
  for (let at = whole; at < query.length; at++) a += values[offset + at]! * query[at]!;
  return a + b + (c + d);
}
