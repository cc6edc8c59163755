import {
  afterCharacter,
  classAt,
  END,
  MARK,
  NEWLINE,
  NUMBER,
  OTHER,
  runEnd,
  SPACE,
} from "./character-class.js";

// The alternatives that the patterns of both vocabularies share. Each takes where a piece may begin and gives
// where it ends. Bytes are UTF-8 closed by END_BYTE.

const SLASH = 0x2f;

function isEither(byte: number, lowerCase: string): boolean {
  return (byte | 0x20) === lowerCase.charCodeAt(0);
}

/** `'s 't 're 've 'm 'll 'd` in any case: the end of the one at bytes[at], or `at` when there is none. */
export function contractionEnd(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== 0x27) return at;
  const first = bytes[at + 1]!;
  if (isEither(first, "s") || isEither(first, "t") || isEither(first, "m") || isEither(first, "d"))
    return at + 2;
  const second = bytes[at + 2]!;
  if ((isEither(first, "r") || isEither(first, "v")) && isEither(second, "e")) return at + 3;
  return isEither(first, "l") && isEither(second, "l") ? at + 3 : at;
}

/** `\p{N}{1,3}`, for bytes[at] a number. */
export function numberEnd(bytes: Uint8Array, at: number): number {
  let end = at;
  for (let digits = 0; digits < 3 && classAt(bytes, end) === NUMBER; digits++)
    end = afterCharacter(bytes, end);
  return end;
}

/** ` ?[^\s\p{L}\p{N}]+[\r\n]*` (with slashes: `[\r\n/]*`), or `at` when that does not match. */
export function punctuationEnd(bytes: Uint8Array, at: number, trailingSlashes: boolean): number {
  const start = bytes[at] === 0x20 ? at + 1 : at;
  let end = runEnd(bytes, start, MARK | OTHER);
  if (end === start) return at;
  while (classAt(bytes, end) === NEWLINE || (trailingSlashes && bytes[end] === SLASH)) end++;
  return end;
}

/**
 * `\s*[\r\n]+|\s+(?!\S)|\s+`, for bytes[at] white space: up to the last line break of the run; without one, up
 * to the last character before a word, which goes with the word.
 */
export function whitespaceEnd(bytes: Uint8Array, at: number): number {
  let end = at;
  let last = at;
  let afterNewline = at;
  for (;;) {
    const found = classAt(bytes, end);
    if ((found & (SPACE | NEWLINE)) === 0) {
      if (afterNewline > at) return afterNewline;
      return found === END || last === at ? end : last;
    }
    last = end;
    end = afterCharacter(bytes, end);
    if (found === NEWLINE) afterNewline = end;
  }
}
