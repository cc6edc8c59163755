/** A small seeded generator: the same seed, the same numbers. */
export function seededBelow(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz";

/** Each yields a short string of one kind; what is hard is where kinds meet. */
const KINDS: readonly ((below: (limit: number) => number) => string)[] = [
  (below) => LETTERS.charAt(below(26)).repeat(1 + below(3)),
  (below) => LETTERS.charAt(below(26)).toUpperCase(),
  (below) => [" the", " and", "function", " return", "Hello", "ing", " Über", "naïve", "ÉCOLE"][below(9)]!,
  (below) => ["'s", "'S", "'t", "'re", "'rE", "'VE", "'ll", "'lL", "'D", "'m", "'", "'x", "’s"][below(13)]!,
  (below) => " \t\n\r\u00a0\u2003\u3000\ufeff\u0085\u2028".charAt(below(10)).repeat(1 + below(4)),
  (below) => ["\r\n", "\n\n", " \n ", "\t\t", "  ", "/\n/", "//", "/"][below(8)]!,
  (below) => String(below(100_000)),
  (below) => "٣४௧Ⅷ²½〇".charAt(below(7)),
  (below) => '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'.charAt(below(32)).repeat(1 + below(3)),
  (below) => String.fromCharCode(0x4e00 + below(0x5200)),
  (below) => "あいうカキク한국어ไทยहिन्दीالعربيةעברית".charAt(below(34)),
  (below) => "\u0301\u0308\u0e31\u094d\u20dd\ufe0f\u200d\u200b".charAt(below(8)),
  (below) => "ǅǲʰˢªºßſİıΣςЖж".charAt(below(14)),
  (below) => String.fromCodePoint(0x1f300 + below(0x400)),
  (below) => ["👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "❤️", "🏳️‍🌈", "𝒜", "𝟘", "𐐀", "𐐨", "𠀀"][below(10)]!,
  (below) =>
    ["\ud800", "\udc00", "\udfff\ud800", "\0", "\u0007", "\uffff", "\u{10ffff}", "\ue000"][below(8)]!,
  (below) => ["<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>", "<|", "|>"][below(5)]!,
];

/** Up to `most` strings of random kinds, one after the other. */
export function randomText(below: (limit: number) => number, most: number): string {
  let text = "";
  for (let left = 1 + below(most); left > 0; left--) text += KINDS[below(KINDS.length)]!(below);
  return text;
}

export function randomLetters(below: (limit: number) => number, length: number): string {
  return Array.from({ length }, () => LETTERS.charAt(below(26))).join("");
}
