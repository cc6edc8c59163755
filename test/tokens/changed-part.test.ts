import { describe, expect, it } from "vitest";
import { changedPart } from "../../src/tokens/changed-part.js";
import { countTokens } from "../../src/tokens/count-tokens.js";
import { vocabularies } from "./oracle.js";
import { randomText, seededBelow } from "./random-text.js";

describe("changedPart", () => {
  it("is short where little changed of a long text", () => {
    const text = "some words and 12 more of them ".repeat(1_000);
    const words = (part: string) => part.trim().split(" ").length;
    const added = changedPart(text, `${text}and these`);
    expect(words(added.was) + words(added.is)).toBeLessThan(10);
    const inside = changedPart(text, `${text.slice(0, 5_000)}X${text.slice(5_010)}`);
    expect(words(inside.was) + words(inside.is)).toBeLessThan(20);
    expect(changedPart("", text)).toEqual({ was: "", is: text });
    expect(changedPart(text, "")).toEqual({ was: text, is: "" });
  });

  it.each(vocabularies)("has as many tokens more or less as the whole text has, in %s", (vocabulary) => {
    for (let seed = 0; seed < 3_000; seed++) {
      const below = seededBelow(seed);
      const text = randomText(below, seed % 100 === 0 ? 20_000 : 40);
      const from = below(text.length + 1);
      const to = below(2) === 0 ? from : Math.min(text.length, from + below(8));
      const after = text.slice(0, from) + (below(3) === 0 ? "" : randomText(below, 4)) + text.slice(to);
      const { was, is } = changedPart(text, after);
      const count = (one: string) => countTokens(one, vocabulary);
      expect(count(after), `seed ${seed}`).toBe(count(text) - count(was) + count(is));
    }
  });
});
