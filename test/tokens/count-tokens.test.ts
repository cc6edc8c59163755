import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { countTokens } from "../../src/tokens/count-tokens.js";
import { oracleCount, vocabularies } from "./oracle.js";
import { randomLetters, randomText, seededBelow } from "./random-text.js";

const CONTRACTIONS = ["s", "t", "re", "ve", "m", "ll", "d"].flatMap((tail) => [
  `it'${tail}`,
  `IT'${tail.toUpperCase()}`,
  `It'${tail.charAt(0).toUpperCase()}${tail.slice(1)}`,
  `it'${tail.charAt(0)}${tail.slice(1).toUpperCase()}`,
  `'${tail}`,
  ` '${tail}x`,
  `1'${tail}`,
  `''${tail}`,
]);

const TEXTS: Readonly<Record<string, readonly string[]>> = {
  "the empty text": [""],
  prose: [
    "The quick brown fox, whose name was Zoë, didn't jump; it slept (soundly) until 7:45 a.m. on 3 May 2024.",
    "Straße, Übergröße, naïve café: où est l'hôtel? ¿Dónde está? Съешь ещё этих мягких французских булок.",
  ],
  code: [
    readFileSync(join(packageRoot, "src/config/package-root.ts"), "utf8"),
    '#include <stdio.h>\r\n\r\nint main(void) {\r\n\treturn printf("%d\\n", 0xFFu);\r\n}\r\n',
  ],
  JSON: [
    readFileSync(join(packageRoot, "package.json"), "utf8"),
    '{"a":[1,2.5e-3,null,"\\u00e9"],"b":{"c":{}}}',
  ],
  "Chinese, Japanese, Korean": [
    "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。",
    "吾輩は猫である。名前はまだ無い。",
    "안녕하세요, 세계! 좋은 아침입니다.",
  ],
  "scripts with marks": [
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก",
    "مرحبا بالعالم",
    "שָׁלוֹם",
    "Tiếng Việt",
    "e\u0301\u0301A\u0301BC",
  ],
  emoji: ["👩‍👩‍👧‍👦 🇩🇪🇫🇷 👍🏽 ❤️ 🏳️‍🌈", "😀".repeat(50), "a😀b 😀A😀"],
  "special tokens": [
    "<|endoftext|>",
    "a<|endoftext|>b <|endofprompt|>",
    "<|fim_prefix|><|fim_middle|><|fim_suffix|>",
  ],
  "white space": [
    " ",
    "\n",
    "  x",
    "x  ",
    " \n x",
    "\n\n  \n\t x",
    "\r\n \r\n",
    "\t\tx",
    "\u00a0\u00a0x",
    "\ufeffx",
    "\u0085 x",
  ],
  "runs of white space": [" ", "\n", "\t", "\r\n", " \n", "\n  "].flatMap((run) =>
    [3, 80, 250].map((n) => `a${run.repeat(n)}b`),
  ),
  digits: ["1", "12", "123", "1234", "3.14159265", "1,000,000", "1".repeat(100), "٣४௧Ⅷ²½", "x1y22z333"],
  "mixed case": [
    "camelCaseHTTPServer",
    "ABCdefGHI",
    "aBcDeFgHiJ",
    "XMLHttpRequest2",
    "ǅungla",
    "ABC中DEF中GHI",
    "中文ABC",
  ],
  contractions: CONTRACTIONS,
  punctuation: ["...", "a/b/c//\n//\nd", " !!!\n\n/x", "=".repeat(200), "->=>!==", "« quoted »", "\\\\n"],
  "lone surrogates": ["\ud800", "a\udc00b", "\udfff\ud800", "x\ud83d", "\ude00x", "\ud800".repeat(20)],
  "control characters": ["\0", "a\0b", "\0".repeat(30), "\u0001\u001b[0m", "\u007f"],
};

describe.each(vocabularies)("countTokens: %s", (vocabulary) => {
  it.each(Object.entries(TEXTS))("equals js-tiktoken on %s", (_, texts) => {
    for (const text of texts)
      expect([text, countTokens(text, vocabulary)]).toEqual([text, oracleCount(text, vocabulary)]);
  });

  it("equals js-tiktoken on 5,000 random mixtures", () => {
    const below = seededBelow(20_260_101);
    for (let i = 0; i < 5000; i++) {
      const text = randomText(below, 24);
      const count = countTokens(text, vocabulary);
      if (count !== oracleCount(text, vocabulary))
        expect([text, count]).toEqual([text, oracleCount(text, vocabulary)]);
    }
  });

  it("equals js-tiktoken on pieces around the length at which the way of merging changes", () => {
    const below = seededBelow(7);
    for (let length = 55; length <= 140; length++) {
      const text = randomLetters(below, length);
      expect([text, countTokens(text, vocabulary)]).toEqual([text, oracleCount(text, vocabulary)]);
    }
  });

  it.each([
    ["random letters", randomLetters(seededBelow(1), 2000)],
    [
      "few letters, whose pairs overlap",
      Array.from(randomLetters(seededBelow(2), 2000), (c) => (c < "n" ? "a" : "b")).join(""),
    ],
    ["one letter", "a".repeat(2000)],
    ["one space", " ".repeat(2000)],
    ["line breaks", "\n".repeat(1500)],
    ["equals signs", "=".repeat(1500)],
    [
      "Chinese",
      Array.from(randomLetters(seededBelow(3), 600), (c) =>
        String.fromCharCode(0x4e00 + c.charCodeAt(0) * 37),
      ).join(""),
    ],
    ["lone surrogates", "\udc00".repeat(500)],
  ])("equals js-tiktoken on a long piece of %s", (_, text) => {
    expect(countTokens(text, vocabulary)).toBe(oracleCount(text, vocabulary));
  });

  it("counts the same again, from its caches and after a text that needs more memory", () => {
    const text = "Unbelievably antidisestablishmentarian zxqjkv 天地玄黄 ".repeat(20);
    const first = countTokens(text, vocabulary);
    countTokens("é".repeat(300_000), vocabulary);
    expect(countTokens(text, vocabulary)).toBe(first);
    expect(first).toBe(oracleCount(text, vocabulary));
  });

  it.each([
    ["letters", "x".repeat(1_000_000)],
    ["mixed case", "aB".repeat(500_000)],
    ["capitals after a caseless letter", `中${"A".repeat(999_999)}`],
    ["caseless letters between capitals", "中A".repeat(500_000)],
    ["spaces", " ".repeat(1_000_000)],
    ["line breaks before spaces", `${"\n".repeat(500_000)}${" ".repeat(500_000)}x`],
    ["digits", "7".repeat(1_000_000)],
    ["apostrophes", "'".repeat(1_000_000)],
    ["marks", "\u0301".repeat(1_000_000)],
  ])("gets through 1,000,000 %s", (_, text) => {
    expect(countTokens(text, vocabulary)).toBeGreaterThan(0);
  });
});
