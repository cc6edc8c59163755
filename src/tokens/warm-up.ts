import { countTokens } from "./count-tokens.js";
import type { Vocabulary } from "./vocabulary.js";

const ROUNDS = 6;
const SAMPLE_CHARS = 3000;

/** Words, and runs without a break, of letters and of Chinese characters. */
function sample(): string {
  let state = 1;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const chars = (first: number, kinds: number): string[] =>
    Array.from({ length: SAMPLE_CHARS }, () => String.fromCharCode(first + below(kinds)));
  const letters = chars(0x61, 26);
  const words = letters.map((letter) => (below(8) === 0 ? ` ${letter}` : letter));
  return [...letters, "\n", ...chars(0x4e00, 4096), "\n", ...words].join("");
}

/**
 * Loads the vocabulary and counts until the code is compiled, which takes some tens of milliseconds. Without
 * it, the first long text takes several times as long as the later ones.
 */
export function warmUp(vocabulary: Vocabulary): void {
  const text = sample();
  for (let i = 0; i < ROUNDS; i++) countTokens(text, vocabulary);
}
