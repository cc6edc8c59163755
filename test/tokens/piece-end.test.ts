import { describe, expect, it } from "vitest";
import { END_BYTE } from "../../src/tokens/character-class.js";
import { cl100kPieceEnd } from "../../src/tokens/cl100k-piece.js";
import { o200kPieceEnd } from "../../src/tokens/o200k-piece.js";
import { ranks, vocabularies } from "./oracle.js";
import { randomText, seededBelow } from "./random-text.js";

const pieceEndOf = { o200k_base: o200kPieceEnd, cl100k_base: cl100kPieceEnd } as const;

function piecesOf(text: string, pieceEnd: (bytes: Uint8Array, at: number) => number): string[] {
  const bytes = Uint8Array.from([...Buffer.from(text), END_BYTE]);
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length - 1; ) {
    const end = pieceEnd(bytes, at);
    pieces.push(Buffer.from(bytes.subarray(at, end)).toString());
    at = end;
  }
  return pieces;
}

describe.each(vocabularies)("piece ends: %s", (vocabulary) => {
  const pattern = new RegExp(ranks[vocabulary].pat_str, "gu");
  const expectSamePieces = (text: string): void => {
    const expected = (text.match(pattern) ?? []).map((piece) => Buffer.from(piece).toString());
    expect(piecesOf(text, pieceEndOf[vocabulary])).toEqual(expected);
  };

  it("parts 20,000 random mixtures as the vocabulary's regular expression does", () => {
    const below = seededBelow(99);
    for (let i = 0; i < 20_000; i++) expectSamePieces(randomText(below, 12));
  });
});
