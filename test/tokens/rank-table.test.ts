import { describe, expect, it } from "vitest";
import { NO_RANK } from "../../src/tokens/rank-table.js";
import { loadVocabulary } from "../../src/tokens/vocabulary.js";
import { tokensOf, vocabularies } from "./oracle.js";

describe.each(vocabularies)("rank table: %s", (vocabulary) => {
  const tokens = tokensOf(vocabulary);
  const table = loadVocabulary(vocabulary);
  const rankOf = (text: Buffer): number => table.rankOf(text, 0, text.length);

  it("finds every token at its rank, and nothing else", () => {
    expect(table.size).toBe(tokens.length);
    const known = new Set(tokens.map((token) => token.toString("latin1")));
    for (const [rank, token] of tokens.entries()) {
      if (rankOf(token) !== rank) expect.fail(`rank ${rank} is found as ${rankOf(token)}`);
      const longer = `${token.toString("latin1")}e`;
      const isToken = rankOf(Buffer.from(longer, "latin1")) !== NO_RANK;
      if (isToken !== known.has(longer)) expect.fail(`${longer} is ${isToken ? "" : "not "}found`);
    }
  });

  it("makes each token by merges of ever higher ranks, on which merging by buckets relies", () => {
    for (const [rank, token] of tokens.entries()) {
      const ends = Array.from(token, (_, i) => i + 1);
      let last = -1;
      while (ends.length > 1) {
        const pairs = ends.slice(1).map((end, i) => table.rankOf(token, ends[i - 1] ?? 0, end));
        const lowest = Math.min(...pairs);
        if (lowest < last || lowest > rank) expect.fail(`rank ${rank} needs ${lowest} after ${last}`);
        last = lowest;
        ends.splice(pairs.indexOf(lowest), 1);
      }
    }
  });
});
