import { EMPTY_HASH, HASH_FACTOR, hashBytes } from "./hash-bytes.js";

/** What a lookup gives for bytes that are no token; higher than every rank, so that it loses every minimum. */
export const NO_RANK = 0x7fffffff;

/** Longer bytes are no token in any vocabulary. */
export const LONGEST_TOKEN_BYTES = 128;
const MERGE_CACHE_BITS = 15;
const PADDING = 0x3d;
const SPACE = 0x20;

const BASE64 = new Uint8Array(128);
for (const [value, char] of [
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
].entries()) {
  BASE64[char.charCodeAt(0)] = value;
}

/** The tokens of a vocabulary, decoded: what all threads of a process can use together. */
export interface Ranks {
  /** How many tokens there are; ranks are below this. */
  readonly size: number;
  readonly blob: Uint8Array;
  /** The token of rank r is blob[starts[r], starts[r + 1]). */
  readonly starts: Uint32Array;
  readonly hashes: Int32Array;
  /** Rank plus one; an untouched slot holds no token. */
  readonly slots: Int32Array;
  readonly byteRanks: Int32Array;
  readonly pairRanks: Int32Array;
}

/**
 * Byte strings and their ranks in flat arrays: an open-addressed hash table over one blob of bytes. Looking up
 * a range of a buffer allocates nothing.
 */
export class RankTable {
  readonly size: number;
  private readonly blob: Uint8Array;
  private readonly starts: Uint32Array;
  private readonly hashes: Int32Array;
  private readonly slots: Int32Array;
  private readonly byteRanks: Int32Array;
  private readonly pairRanks: Int32Array;
  /** What rankOfMerge found: one place for each hash of a pair, the later taking the place of the earlier. */
  private readonly mergeKeys = new Float64Array(2 ** MERGE_CACHE_BITS).fill(-1);
  private readonly mergeRanks = new Int32Array(2 ** MERGE_CACHE_BITS);

  constructor({ size, blob, starts, hashes, slots, byteRanks, pairRanks }: Ranks) {
    this.size = size;
    this.blob = blob;
    this.starts = starts;
    this.hashes = hashes;
    this.slots = slots;
    this.byteRanks = byteRanks;
    this.pairRanks = pairRanks;
  }

  /** The rank of bytes[start, end), or NO_RANK. */
  rankOf(bytes: Uint8Array, start: number, end: number): number {
    if (end - start > LONGEST_TOKEN_BYTES) return NO_RANK;
    return this.rankOfHashed(bytes, start, end, hashBytes(bytes, start, end));
  }

  /** As rankOf, for a caller that has the bytes' hash already. */
  rankOfHashed(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const slots = this.slots;
    const mask = slots.length - 1;
    for (let slot = (hash ^ (hash >>> 15)) & mask; ; slot = (slot + 1) & mask) {
      const rank = slots[slot]! - 1;
      if (rank < 0) return NO_RANK;
      if (this.hashes[rank] === hash && this.holds(rank, bytes, start, end)) return rank;
    }
  }

  /**
   * The rank of bytes[start, end), which are the tokens `left` and `right` side by side; or NO_RANK. Merging
   * asks for the same pairs again and again, whose answer does not depend on how long the tokens are.
   */
  rankOfMerge(left: number, right: number, bytes: Uint8Array, start: number, end: number): number {
    const entry = (Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b)) >>> (32 - MERGE_CACHE_BITS);
    const key = left * 2 ** 20 + right;
    if (this.mergeKeys[entry] === key) return this.mergeRanks[entry]!;
    const rank = this.rankOf(bytes, start, end);
    this.mergeKeys[entry] = key;
    this.mergeRanks[entry] = rank;
    return rank;
  }

  rankOfByte(byte: number): number {
    return this.byteRanks[byte]!;
  }

  /** The rank of two neighbouring bytes, or NO_RANK. */
  rankOfPair(first: number, second: number): number {
    return this.pairRanks[(first << 8) | second]!;
  }

  private holds(rank: number, bytes: Uint8Array, start: number, end: number): boolean {
    const blob = this.blob;
    let from = this.starts[rank]!;
    if (this.starts[rank + 1]! - from !== end - start) return false;
    for (let i = start; i < end; i++) if (blob[from++] !== bytes[i]) return false;
    return true;
  }
}

/**
 * Takes the ASCII text of base64 tokens parted by single spaces; the first has rank 0, the next 1, ... Decodes, hashes and files every
 * token in one pass: this is most of what loading a vocabulary costs.
 */
export function decodeRanks(source: Uint8Array): Ranks {
  // A token takes at least four characters and a space. What is allocated too much is never touched.
  const mostTokens = Math.ceil(source.length / 5) + 1;
  const blob = new Uint8Array(new SharedArrayBuffer(Math.ceil(source.length / 4) * 3));
  const starts = new Uint32Array(new SharedArrayBuffer(4 * (mostTokens + 1)));
  const hashes = sharedInts(mostTokens);
  const slots = sharedInts(2 ** Math.ceil(Math.log2(mostTokens)));
  const byteRanks = sharedInts(0x100);
  const pairRanks = sharedInts(0x10000).fill(NO_RANK);
  const mask = slots.length - 1;
  let length = 0;
  let rank = 0;
  for (let i = 0; i < source.length; i += 5) {
    let hash = EMPTY_HASH;
    for (; ; i += 4) {
      const third = source[i + 2]!;
      const fourth = source[i + 3]!;
      const bits =
        (BASE64[source[i]!]! << 18) |
        (BASE64[source[i + 1]!]! << 12) |
        (BASE64[third]! << 6) |
        BASE64[fourth]!;
      blob[length++] = bits >> 16;
      hash = Math.imul(hash ^ (bits >> 16), HASH_FACTOR);
      if (third !== PADDING) {
        blob[length++] = bits >> 8;
        hash = Math.imul(hash ^ ((bits >> 8) & 0xff), HASH_FACTOR);
      }
      if (fourth !== PADDING) {
        blob[length++] = bits;
        hash = Math.imul(hash ^ (bits & 0xff), HASH_FACTOR);
      }
      if (i + 4 >= source.length || source[i + 4] === SPACE) break;
    }
    const start = starts[rank]!;
    if (length - start === 1) byteRanks[blob[start]!] = rank;
    if (length - start === 2) pairRanks[(blob[start]! << 8) | blob[start + 1]!] = rank;
    hashes[rank] = hash;
    let slot = (hash ^ (hash >>> 15)) & mask;
    while (slots[slot] !== 0) slot = (slot + 1) & mask;
    slots[slot] = ++rank;
    starts[rank] = length;
  }
  return { size: rank, blob, starts, hashes, slots, byteRanks, pairRanks };
}

function sharedInts(length: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4 * length));
}
