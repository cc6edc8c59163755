import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maxSentenceChars, sentencesIn } from "../../../src/compaction/extractive/sentences.js";

const texts = (text: string) => [...sentencesIn(text)].map((sentence) => sentence.text);

describe("sentences", () => {
  test("end at full stops, not inside numbers, names of files, addresses and abbreviations", () => {
    expect(texts("Dr. Ito paid 3.14 euros. See main.ts at https://a.b/c.d?e=f. Fine? Yes!")).toEqual([
      "Dr. Ito paid 3.14 euros.",
      "See main.ts at https://a.b/c.d?e=f.",
      "Fine?",
      "Yes!",
    ]);
  });

  test("end without a space where the script has none", () => {
    expect(texts("你好。今天很好！「再见。」走吧")).toEqual(["你好。", "今天很好！", "「再见。」", "走吧"]);
  });

  test("know lists, tasks and code", () => {
    const text = "Plan:\n- one. two\n2. three\n- [ ] four\n* [x] five\n```ts\nconst a = b.c();\n```\nend";
    expect([...sentencesIn(text)].map(({ kind, text: said }) => `${kind}: ${said}`)).toEqual([
      "prose: Plan:",
      "item: one. two",
      "item: three",
      "task: four",
      "done: five",
      "code: const a = b.c();",
      "prose: end",
    ]);
  });

  test("are cut at a clause where they are too long", () => {
    const [first, second] = texts(`${"word ".repeat(50)}end, ${"more ".repeat(40)}`);
    expect(first!.endsWith("end,")).toBe(true);
    expect(second!.startsWith("…more")).toBe(true);
  });

  test("lose no letter of any text, and are never too long", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ maxLength: 2_000 }), fc.string({ unit: "grapheme", maxLength: 800 })),
        (text) => {
          const plain = text.replace(/^\s*(?:```|~~~).*$/gmu, "");
          const found = texts(plain);
          for (const sentence of found) expect(sentence.length).toBeLessThanOrEqual(maxSentenceChars + 1);
          const letters = (of: string) => of.replace(/\P{L}/gu, "");
          const isTask = /\[[xX]\]/u.test(plain);
          if (!isTask) expect(letters(found.join(""))).toBe(letters(plain));
        },
      ),
      { seed: 7, numRuns: 400 },
    );
  });
});
