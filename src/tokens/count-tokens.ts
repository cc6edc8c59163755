import { type CountedTokens, countedTokens } from "../domain/token-units.js";
import { END_BYTE } from "./character-class.js";
import { cl100kPieceEnd } from "./cl100k-piece.js";
import { o200kPieceEnd } from "./o200k-piece.js";
import { PieceCounter } from "./piece-counter.js";
import { loadVocabulary, type TextVocabulary, textVocabulary, type Vocabulary } from "./vocabulary.js";

const SCRATCH_BYTES = 2 ** 16;

const pieceEndOf = { o200k_base: o200kPieceEnd, cl100k_base: cl100kPieceEnd } as const;
const pieceCounters = new Map<TextVocabulary, PieceCounter>();
const encoder = new TextEncoder();
const scratch = new Uint8Array(SCRATCH_BYTES);

/**
 * How many tokens the text has, exactly. Special tokens in it count as ordinary text, lone surrogates as U+FFFD.
 * Takes time in proportion to the text, whatever is in it. The first use of a vocabulary loads it.
 */
export function countTokens(text: string, vocabulary: Vocabulary): CountedTokens {
  const textual = textVocabulary(vocabulary);
  const pieces = pieceCounterOf(textual);
  const pieceEnd = pieceEndOf[textual];
  const mostBytes = text.length * 3 + 1;
  const bytes = mostBytes <= SCRATCH_BYTES ? scratch : new Uint8Array(mostBytes);
  const length = encoder.encodeInto(text, bytes).written;
  bytes[length] = END_BYTE;
  let tokens = 0;
  for (let at = 0; at < length; ) {
    const end = pieceEnd(bytes, at);
    tokens += pieces.count(bytes, at, end);
    at = end;
  }
  return countedTokens(tokens);
}

function pieceCounterOf(vocabulary: TextVocabulary): PieceCounter {
  let counter = pieceCounters.get(vocabulary);
  if (counter === undefined) {
    counter = new PieceCounter(loadVocabulary(vocabulary));
    pieceCounters.set(vocabulary, counter);
  }
  return counter;
}
