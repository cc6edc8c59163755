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

/**
 * With U = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]` and L = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`: where the first match of
 * `U*L+|U+L*` at bytes[at] ends, or `at`. When no lower-case letter follows the run of U, a regular expression
 * gives characters of it back until one is also in L: the match ends after the last of those.
 */
function wordEnd(bytes: Uint8Array, at: number): number {
  let end = at;
  let afterCaseless = at;
  let found = classAt(bytes, end);
  while ((found & (UPPER | UNCASED | MARK)) !== 0) {
    end = afterCharacter(bytes, end);
    if (found !== UPPER) afterCaseless = end;
    found = classAt(bytes, end);
  }
  if (found === LOWER) return runEnd(bytes, end, LOWER | UNCASED | MARK);
  return afterCaseless > at ? afterCaseless : end;
}

/** Where the piece that begins at bytes[at] ends by the pattern of o200k_base; linear on every text. */
export function o200kPieceEnd(bytes: Uint8Array, at: number): number {
  const first = classAt(bytes, at);
  if ((first & (UPPER | LOWER | UNCASED | MARK)) !== 0) return contractionEnd(bytes, wordEnd(bytes, at));
  if (first === NUMBER) return numberEnd(bytes, at);
  if ((first & (SPACE | OTHER)) !== 0) {
    const second = afterCharacter(bytes, at);
    const end = wordEnd(bytes, second);
    if (end > second) return contractionEnd(bytes, end);
    const afterPunctuation = punctuationEnd(bytes, at, true);
    if (afterPunctuation > at) return afterPunctuation;
  }
  return whitespaceEnd(bytes, at);
}
