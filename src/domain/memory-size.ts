export const megabyte = 1024 * 1024;

/** What a text takes at most: two bytes for a character. */
export function textBytes(text: string): number {
  return 2 * text.length + 32;
}

/** What bytes take that have their memory for themselves. */
export function bufferBytes(bytes: Uint8Array): number {
  return bytes.byteLength + 256;
}

/**
 * The bytes in memory of their own. Node makes small buffers as parts of larger ones, which stay in memory as long as any part
 * of them is used: what is kept must not be such a part.
 */
export function ownBytes(bytes: Uint8Array): Buffer {
  if (bytes.buffer.byteLength === bytes.byteLength) return Buffer.from(bytes.buffer, 0, bytes.byteLength);
  const own = Buffer.allocUnsafeSlow(bytes.byteLength);
  own.set(bytes);
  return own;
}

/** The pieces one after the other, in memory of their own. */
export function ownConcat(pieces: readonly Uint8Array[]): Buffer {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  const own = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const piece of pieces) {
    own.set(piece, at);
    at += piece.length;
  }
  return own;
}

/** What a JSON text takes at most once it is read: objects and their properties cost far more than their characters. */
export function parsedJsonBytes(json: string): number {
  let bytes = textBytes(json);
  for (let at = 0; at < json.length; at++) bytes += costs[json.charCodeAt(at)] ?? 0;
  return bytes;
}

/** An object or a list; a property with its name, and its share of the object's hidden class; a place; half a text. */
const costs: Readonly<Record<number, number>> = charCosts({ "{": 72, "[": 64, ":": 160, ",": 16, '"': 16 });

function charCosts(byCharacter: Readonly<Record<string, number>>): Readonly<Record<number, number>> {
  return Object.fromEntries(Object.entries(byCharacter).map(([key, cost]) => [key.charCodeAt(0), cost]));
}
