/** The wire form of what stands before a length-delimited field: its tag and its length. */
export function fieldHead(field: number, length: number): Buffer {
  const bytes = [(field << 3) | 2];
  let rest = length;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
