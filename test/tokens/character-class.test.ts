import { expect, it } from "vitest";
import * as classes from "../../src/tokens/character-class.js";

const PATTERNS: readonly (readonly [number, RegExp])[] = [
  [classes.NEWLINE, /[\r\n]/u],
  [classes.SPACE, /\s/u],
  [classes.UPPER, /[\p{Lu}\p{Lt}]/u],
  [classes.LOWER, /\p{Ll}/u],
  [classes.UNCASED, /\p{L}/u],
  [classes.MARK, /\p{M}/u],
  [classes.NUMBER, /\p{N}/u],
  [classes.OTHER, /./su],
];

it("character class: every code point has the class that regular expressions see", () => {
  const bytes = new Uint8Array(8);
  for (let point = 0; point < 0x110000; point++) {
    const char = String.fromCodePoint(point);
    const width = new TextEncoder().encodeInto(char, bytes).written;
    const [expected] = PATTERNS.find(([, pattern]) => pattern.test(char))!;
    const found = classes.classAt(bytes, 0);
    if (found !== expected) expect.fail(`U+${point.toString(16)} is ${found}, not ${expected}`);
    if (classes.afterCharacter(bytes, 0) !== width)
      expect.fail(`U+${point.toString(16)} is not ${width} bytes`);
  }
});

it("character class: the byte after a text has none", () => {
  expect(classes.classAt(Uint8Array.of(classes.END_BYTE), 0)).toBe(classes.END);
});
