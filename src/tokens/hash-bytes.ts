export const EMPTY_HASH = 0x811c9dc5 | 0;
export const HASH_FACTOR = 0x01000193;

/** FNV-1a of bytes[start, end), as a signed 32-bit number. */
export function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = EMPTY_HASH;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, HASH_FACTOR);
  return hash;
}
