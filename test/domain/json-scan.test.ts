import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maxJsonDepth, parseJson, scanJson } from "../../src/domain/json-scan.js";

const nested = (levels: number, inner = "0") => "[".repeat(levels) + inner + "]".repeat(levels);
const nestedObjects = (levels: number) => `${'{"a":'.repeat(levels)}0${"}".repeat(levels)}`;

/** What `JSON.parse` says of a text. */
function kindOf(text: string): "object" | "value" | "no JSON" {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? "object" : "value";
  } catch {
    return "no JSON";
  }
}

describe("scan of JSON", () => {
  test.each([
    "",
    " ",
    "{}",
    " { } ",
    "[]",
    "[ ]",
    "[,]",
    "[1,]",
    "[1 2]",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{"a":1,"b":[true,false,null]}',
    "{a:1}",
    "[}",
    "{]",
    "]",
    "[]]",
    "[][",
    "{}{}",
    "0",
    "-0",
    "-",
    "01",
    "1.",
    ".5",
    "1.5e+3",
    "1e",
    "+1",
    "NaN",
    "truee",
    "nul",
    '"a',
    '"a\\"',
    '"\\x"',
    '"\\u12g4"',
    '"\\u12G4"',
    '"\\u00e9\\n\\/"',
    '"a\nb"',
    '"\u2028"',
    "\u00a0{}",
    "\ufeff{}",
    "\v1",
  ])("says of %j what JSON.parse says", (text) => {
    expect(scanJson(text, maxJsonDepth)).toBe(kindOf(text));
  });

  test("says of any JSON, and of any JSON with a character changed, what JSON.parse says", () => {
    const letters = [...'{}[]",:\\ 0-.eEutrn\n\u0001'];
    const changed = fc.tuple(fc.json({ maxDepth: 6 }), fc.nat(), fc.constantFrom("", ...letters), fc.nat(1));
    fc.assert(
      fc.property(changed, ([json, place, letter, removed]) => {
        const at = place % (json.length + 1);
        const text = json.slice(0, at) + letter + json.slice(at + removed);
        expect(scanJson(json, maxJsonDepth)).toBe(kindOf(json));
        expect(scanJson(text, maxJsonDepth)).toBe(kindOf(text));
      }),
      { seed: 9, numRuns: 5_000 },
    );
  });

  test("allows as many levels as it is told, and none more", () => {
    expect(scanJson(nested(maxJsonDepth), maxJsonDepth)).toBe("value");
    expect(scanJson(nested(maxJsonDepth + 1), maxJsonDepth)).toBe("too deep");
    expect(scanJson(nested(maxJsonDepth + 1, ""), maxJsonDepth)).toBe("too deep");
    expect(scanJson(nestedObjects(maxJsonDepth), maxJsonDepth)).toBe("object");
    expect(scanJson(nestedObjects(maxJsonDepth + 1), maxJsonDepth)).toBe("too deep");
  });

  test("ten megabytes of brackets are settled at the first that is too deep, and as text at their end", () => {
    const brackets = 10 * 1024 * 1024;
    expect(scanJson("[".repeat(brackets), maxJsonDepth)).toBe("too deep");
    expect(scanJson(nested(brackets / 2), maxJsonDepth)).toBe("too deep");
    expect(scanJson(`{"a":"${"[".repeat(brackets)}"}`, maxJsonDepth)).toBe("object");
    expect(scanJson(`{"a":"${'\\"['.repeat(brackets / 3)}"}`, maxJsonDepth)).toBe("object");
    expect(scanJson(`["\\\\",${"[".repeat(brackets)}`, maxJsonDepth)).toBe("too deep");
    expect(scanJson("]".repeat(brackets), maxJsonDepth)).toBe("no JSON");
  });

  test("what is too deep is not read", () => {
    expect(parseJson(nested(maxJsonDepth))).toBeDefined();
    expect(parseJson(nested(maxJsonDepth + 1))).toBeUndefined();
    expect(parseJson("{")).toBeUndefined();
  });
});
