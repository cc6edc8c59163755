import fc from "fast-check";
import { expect, test } from "vitest";
import { framed } from "../../src/server/transport/framed.js";

const bytesOf = (pieces: readonly Buffer[]) => {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(length, 1);
  return { length, whole: Buffer.concat([prefix, ...pieces]) };
};

test("a message is its pieces behind its length, however they lie in memory", () => {
  const memory = Buffer.from(Array.from({ length: 200_000 }, (_, at) => at % 251));
  const piece = fc
    .tuple(fc.nat(memory.length), fc.oneof(fc.nat(40), fc.nat(30_000)))
    .map(([from, length]) => memory.subarray(from, from + length));
  // Some begin where the one before ends.
  const behind = fc.tuple(piece, fc.array(fc.nat(12_000), { maxLength: 6 })).map(([first, lengths]) => {
    let at = first.byteOffset - memory.byteOffset + first.length;
    const rest = lengths.map((length) => {
      at += length;
      return memory.subarray(at - length, at);
    });
    return [first, ...rest];
  });
  fc.assert(
    fc.property(fc.array(behind, { maxLength: 12 }), (groups) => {
      const pieces = groups.flat();
      const { length, whole } = bytesOf(pieces);
      const { chunks, free } = framed(pieces, length);
      expect(Buffer.concat(chunks).equals(whole)).toBe(true);
      free();
    }),
    { numRuns: 300, seed: 5 },
  );
});

test("pieces that lie side by side in memory go as one, and are not copied", () => {
  const memory = Buffer.alloc(40_000, 7);
  const pieces = Array.from({ length: 40 }, (_, at) => memory.subarray(at * 1_000, (at + 1) * 1_000));
  const { chunks } = framed(pieces, 40_000);
  expect(chunks.map(({ length }) => length)).toEqual([5, 40_000]);
  expect(chunks[1]!.buffer).toBe(memory.buffer);
});
