/** A field that holds a message whose bytes are there in pieces: tag and length go before them. */
export function nested(field: number, pieces: readonly Buffer[]): readonly Buffer[] {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const head = [(field << 3) | 2];
  let rest = length;
  while (rest > 0x7f) {
    head.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  head.push(rest);
  return [Buffer.from(head), ...pieces];
}
