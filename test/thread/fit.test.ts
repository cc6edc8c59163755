import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonEntries } from "../../src/domain/json-scan.js";
import { namesIn } from "../../src/domain/names.js";
import { clipArguments } from "../../src/thread/clip-arguments.js";
import { clipText } from "../../src/thread/clip-text.js";
import { type Fit, fitId, parseFit } from "../../src/thread/fit.js";
import { countTokens } from "../../src/tokens/count-tokens.js";

const count = (text: string) => countTokens(text, "o200k_base");
const mark = (tokens: number) => `[left out: ${tokens}]`;
const marks = { leftOut: mark, names: (names: string) => `[names: ${names}]` };
const runs = { numRuns: 200, seed: 20_260_117, endOnFailure: true };

const text = fc.string({ unit: "grapheme", maxLength: 60 });
/** Texts of up to some thousand characters, whatever is in them. */
const longText = fc.tuple(text, fc.nat({ max: 120 })).map(([part, times]) => `${part} `.repeat(times));
const cap = fc.integer({ min: 0, max: 400 });

describe("a fit", () => {
  test("is read from its id as it was written", () => {
    const some = fc.option(fc.nat({ max: 70_000 }), { nil: undefined });
    const fit = fc.record<Fit>({
      splitIndex: fc.nat({ max: 500 }),
      openingTokens: some,
      callTokens: some,
      textTokens: some,
      leftOutCalls: fc.nat({ max: 500 }),
      end: fc.record({ depth: fc.integer({ min: 1, max: 9_999 }), messageIndex: fc.nat({ max: 999 }) }),
      savedTokens: fc.integer({ min: -20, max: 1_000_000 }),
      marksHash: fc.constant("0123456789ab"),
    });
    fc.assert(
      fc.property(fit, (given) => {
        expect(parseFit(fitId(given))).toEqual(given);
        expect(fitId(given)).not.toMatch(/[/+]/);
      }),
      runs,
    );
  });

  test.each(["", "3-2-0badcafe", "e1", "s3.c64"])("is none where the id says too little: %s", (id) => {
    expect(parseFit(id)).toBeUndefined();
  });
});

describe("a text that is cut", () => {
  test("costs no more than it may, or is only its mark; and keeps its beginning and its end", async () => {
    await fc.assert(
      fc.asyncProperty(longText, cap, async (given, most) => {
        const clipped = await clipText(given, count(given), most, marks, count);
        if (clipped === mark(count(given)) || count(given) <= most) return;
        expect(count(clipped)).toBeLessThanOrEqual(most);
        const [head, tail] = clipped.split(/\n\[left out: \d+\]\n(?:\[names: .*\]\n)?/);
        expect(given.startsWith(head!)).toBe(true);
        expect(given.endsWith(tail!)).toBe(true);
        expect(Buffer.from(clipped).toString().includes("\ufffd")).toBe(
          Buffer.from(given).toString().includes("\ufffd"),
        );
      }),
      runs,
    );
  });
});

describe("names of what is left out", () => {
  const lines = Array.from({ length: 400 }, (_, at) => `const value = load_order_${at % 40}(); // and so on`);

  test("are listed, each once, and none that is shown", async () => {
    const given = lines.join("\n");
    const clipped = await clipText(given, count(given), 400, marks, count);
    const [head, listed, tail] = clipped.split(/\n\[left out: \d+\]\n\[names: (.*)\]\n/);
    const names = listed!.split(", ");
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) {
      expect(given).toContain(name);
      expect([...namesIn(`${head}\n${tail}`)]).not.toContain(name);
    }
    expect(namesIn(clipped).size).toBe(40);
  });

  test("those that are said most often come first", async () => {
    const given = ["first_words ".repeat(40), "rare_name", "usual_name, ".repeat(9), "last ".repeat(60)].join(
      " ",
    );
    const clipped = await clipText(given, count(given), 90, marks, count);
    expect(clipped).toContain("[names: usual_name");
  });
});

describe("arguments that are cut", () => {
  test("are a JSON object that costs no more than it may, or one field that says what it was", async () => {
    const value = fc.oneof(text, longText, fc.jsonValue(), fc.constant(12_345_678_901_234_567_890n));
    const fields = fc.array(fc.tuple(text, value), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fields, cap, async (given, most) => {
        const json = `{ ${given
          .map(
            ([key, each]) =>
              `${JSON.stringify(key)} : ${typeof each === "bigint" ? each : JSON.stringify(each)}`,
          )
          .join(" ,\n")} }`;
        const clipped = await clipArguments(json, count(json), most, marks, count);
        expect(JSON.parse(clipped)).toBeTypeOf("object");
        if (clipped === `{"left_out":${JSON.stringify(mark(count(json)))}}`) return;
        expect(count(clipped)).toBeLessThanOrEqual(most);
        const before = jsonEntries(json)!;
        const after = jsonEntries(clipped)!;
        expect(after.map(({ key }) => key)).toEqual(before.map(({ key }) => key));
        before.forEach(({ value: was }, at) => {
          if (was.length <= 160) expect(after[at]!.value).toBe(was);
        });
      }),
      runs,
    );
  });

  test.each(["[1, 2]", '"text"', "no JSON", ""])("that are no object become one: %s", async (json) => {
    expect(JSON.parse(await clipArguments(json, 90, 64, marks, count))).toEqual({ left_out: mark(90) });
  });
});
