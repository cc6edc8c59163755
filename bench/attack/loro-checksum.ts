const primes = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1] as const;
/** Of a Loro blob: 4 bytes of magic, 12 that are unused, and the checksum of all that follows. */
const checksumAt = 16;
const bodyAt = 20;
const seed = Buffer.from("LORO").readUInt32LE();

/** Gives a blob the checksum that its body has: Loro takes it for whole. */
export function withChecksum(blob: Uint8Array): Uint8Array {
  if (blob.length < bodyAt) return blob;
  const bytes = Buffer.from(blob);
  bytes.writeUInt32LE(checksumOf(bytes), checksumAt);
  return bytes;
}

export function checksumOf(blob: Uint8Array): number {
  return xxHash32(Buffer.from(blob).subarray(bodyAt), seed);
}

function xxHash32(bytes: Buffer, seed: number): number {
  const [one, two, three, four, five] = primes;
  const end = bytes.length;
  let at = 0;
  let hash = seed + five;
  if (end >= 16) {
    const lanes = [seed + one + two, seed + two, seed, seed - one];
    for (; at + 16 <= end; at += 16)
      for (let lane = 0; lane < 4; lane++)
        lanes[lane] = times(turned(lanes[lane]! + times(bytes.readUInt32LE(at + 4 * lane), two), 13), one);
    hash = turned(lanes[0]!, 1) + turned(lanes[1]!, 7) + turned(lanes[2]!, 12) + turned(lanes[3]!, 18);
  }
  hash += end;
  for (; at + 4 <= end; at += 4) hash = times(turned(hash + times(bytes.readUInt32LE(at), three), 17), four);
  for (; at < end; at++) hash = times(turned(hash + times(bytes[at]!, five), 11), one);
  hash = times((hash >>> 0) ^ (hash >>> 15), two);
  hash = times(hash ^ (hash >>> 13), three);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function times(a: number, b: number): number {
  return Math.imul(a, b) >>> 0;
}

/** Bits to the left, those that fall off come in again at the right. */
function turned(value: number, by: number): number {
  return ((value << by) | (value >>> (32 - by))) >>> 0;
}
