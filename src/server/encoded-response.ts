/** A response in wire form: pieces that together are the message. */
export type EncodedResponse = readonly Buffer[];

export function size(pieces: EncodedResponse): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

const scratch = Buffer.allocUnsafeSlow(1024 * 1024);

/** Puts the pieces together in one buffer for all: grpc-js copies what a serializer gives before it does anything else. */
export function joined(pieces: EncodedResponse): Buffer {
  const [first] = pieces;
  if (first && pieces.length === 1) return first;
  const bytes = size(pieces);
  if (bytes > scratch.length) return Buffer.concat(pieces, bytes);
  let at = 0;
  for (const piece of pieces) {
    scratch.set(piece, at);
    at += piece.length;
  }
  return scratch.subarray(0, bytes);
}
