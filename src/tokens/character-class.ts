/**
 * The classes that the pre-tokenizers tell apart. Every code point has exactly one; as single bits they can be
 * tested as sets.
 */
export const UPPER = 1;
export const LOWER = 2;
/** Letters without case (modifier and other letters), which may stand for upper or lower case. */
export const UNCASED = 4;
export const MARK = 8;
export const NUMBER = 16;
export const NEWLINE = 32;
/** White space other than NEWLINE. */
export const SPACE = 64;
export const OTHER = 128;
/** The class of END_BYTE. */
export const END = 0;

/** Stands after the last byte of a text; valid UTF-8 never holds it. */
export const END_BYTE = 0xff;

const BLOCK = 1024;
const RUNS =
  /([\p{Lm}\p{Lo}]+)|(\p{Ll}+)|([\p{Lu}\p{Lt}]+)|(\p{M}+)|(\p{N}+)|([\r\n]+)|([^\S\r\n]+)|([^\p{L}\p{M}\p{N}\s]+)/gu;
const CLASS_OF_GROUP = [UNCASED, LOWER, UPPER, MARK, NUMBER, NEWLINE, SPACE, OTHER];

/** Filled a block at a time when a text first needs it; 0 is not known yet. */
const classes = new Uint8Array(0xf0000);

function classifyBlock(codePoint: number): void {
  const first = codePoint - (codePoint % BLOCK);
  const points = Array.from({ length: BLOCK }, (_, i) => first + i);
  const unitsPerPoint = first < 0x10000 ? 1 : 2;
  for (const run of String.fromCodePoint(...points).matchAll(RUNS)) {
    const from = first + run.index / unitsPerPoint;
    const group = run.findIndex((text, i) => i > 0 && text !== undefined);
    classes.fill(CLASS_OF_GROUP[group - 1]!, from, from + run[0].length / unitsPerPoint);
  }
}

/** The planes 4 to 13 are empty, 15 and 16 for private use. */
function isInPlaneWithoutLetters(codePoint: number): boolean {
  return codePoint >= 0x40000 && codePoint >> 16 !== 14;
}

classifyBlock(0);
const ascii = classes.slice(0, 0x80);

function classOfMultibyte(bytes: Uint8Array, at: number, lead: number): number {
  if (lead === END_BYTE) return END;
  let codePoint: number;
  if (lead < 0xe0) {
    codePoint = ((lead & 0x1f) << 6) | (bytes[at + 1]! & 0x3f);
  } else if (lead < 0xf0) {
    codePoint = ((lead & 0x0f) << 12) | ((bytes[at + 1]! & 0x3f) << 6) | (bytes[at + 2]! & 0x3f);
  } else {
    codePoint =
      ((lead & 0x07) << 18) |
      ((bytes[at + 1]! & 0x3f) << 12) |
      ((bytes[at + 2]! & 0x3f) << 6) |
      (bytes[at + 3]! & 0x3f);
  }
  if (isInPlaneWithoutLetters(codePoint)) return OTHER;
  if (classes[codePoint] === 0) classifyBlock(codePoint);
  return classes[codePoint]!;
}

/** The class of the character that begins at bytes[at], in UTF-8 closed by END_BYTE. */
export function classAt(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!;
  return lead < 0x80 ? ascii[lead]! : classOfMultibyte(bytes, at, lead);
}

/** Where the character after the one at bytes[at] begins. */
export function afterCharacter(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!;
  if (lead < 0x80) return at + 1;
  if (lead < 0xe0) return at + 2;
  return lead < 0xf0 ? at + 3 : at + 4;
}

/** Where the run of characters of the given classes that begins at bytes[at] ends. */
export function runEnd(bytes: Uint8Array, at: number, classSet: number): number {
  let end = at;
  while ((classAt(bytes, end) & classSet) !== 0) end = afterCharacter(bytes, end);
  return end;
}
