/** Pieces up to this size cost less to copy than to hand on one by one. */
const copiedBytes = 8 * 1024;
const slabBytes = 64 * 1024;
const maxKept = 64;
/** A compression flag and four bytes of length stand before a message. */
const prefixBytes = 5;

/** Memory to put small pieces together in, used again when it is given back. */
const kept: Buffer[] = [];

/** A message as http2 takes it. */
export interface FramedMessage {
  readonly chunks: readonly Buffer[];
  /** Gives the memory back. Only for a message that is sent: of one that was given up, the system may still send bytes. */
  free(): void;
}

/** Puts the prefix before a message. Of its pieces the large ones go as they are; those that lie side by side in memory are one. */
export function framed(pieces: readonly Buffer[], bytes: number): FramedMessage {
  const chunks: Buffer[] = [];
  const slabs: Buffer[] = [];
  let slab = take(slabs, bytes);
  let from = 0;
  let at = prefixBytes;
  slab[0] = 0;
  slab.writeUInt32BE(bytes, 1);
  const close = () => {
    if (at > from) chunks.push(slab.subarray(from, at));
    from = at;
  };
  for (let index = 0; index < pieces.length; ) {
    const first = pieces[index++]!;
    let length = first.length;
    for (; index < pieces.length && isBehind(pieces[index]!, first, length); index++)
      length += pieces[index]!.length;
    const piece = length === first.length ? first : Buffer.from(first.buffer, first.byteOffset, length);
    if (length > copiedBytes) {
      close();
      chunks.push(piece);
      continue;
    }
    if (at + length > slab.length) {
      close();
      slab = take(slabs, bytes);
      from = 0;
      at = 0;
    }
    slab.set(piece, at);
    at += length;
  }
  close();
  return {
    chunks,
    free: () => {
      for (const each of slabs) if (kept.length < maxKept) kept.push(each);
    },
  };
}

/** Whether a piece begins where so many bytes from another's beginning end. */
function isBehind(piece: Buffer, first: Buffer, length: number): boolean {
  return piece.byteOffset === first.byteOffset + length && piece.buffer === first.buffer;
}

/** Small messages have memory of their own: the stream of a watch may wait for hours with one. */
function take(slabs: Buffer[], messageBytes: number): Buffer {
  if (messageBytes <= copiedBytes) return Buffer.allocUnsafe(prefixBytes + messageBytes);
  const slab = kept.pop() ?? Buffer.allocUnsafeSlow(slabBytes);
  slabs.push(slab);
  return slab;
}
