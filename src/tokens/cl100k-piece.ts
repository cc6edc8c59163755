import {
  afterCharacter,
  classAt,
  LOWER,
  MARK,
  NUMBER,
  OTHER,
  runEnd,
  SPACE,
  UNCASED,
  UPPER,
} from "./character-class.js";
import { contractionEnd, numberEnd, punctuationEnd, whitespaceEnd } from "./split-rules.js";

const LETTER = UPPER | LOWER | UNCASED;

/** Where the piece that begins at bytes[at] ends by the pattern of cl100k_base; linear on every text. */
export function cl100kPieceEnd(bytes: Uint8Array, at: number): number {
  const afterContraction = contractionEnd(bytes, at);
  if (afterContraction > at) return afterContraction;
  const first = classAt(bytes, at);
  if ((first & LETTER) !== 0) return runEnd(bytes, at, LETTER);
  if (first === NUMBER) return numberEnd(bytes, at);
  if ((first & (SPACE | OTHER | MARK)) !== 0) {
    const second = afterCharacter(bytes, at);
    const end = runEnd(bytes, second, LETTER);
    if (end > second) return end;
    const afterPunctuation = punctuationEnd(bytes, at, false);
    if (afterPunctuation > at) return afterPunctuation;
  }
  return whitespaceEnd(bytes, at);
}
