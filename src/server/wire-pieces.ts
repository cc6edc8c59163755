import { fieldHead } from "../domain/field-head.js";

/** A field that holds a message whose bytes are there in pieces: tag and length go before them. */
export function nested(field: number, pieces: readonly Buffer[]): readonly Buffer[] {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return [fieldHead(field, length), ...pieces];
}
