import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { identifiersIn, mentions, openIdentifiers } from "../../../src/compaction/plan/identifiers.js";
import { answers, calls, says, turn } from "../extractive/summary-task.js";

describe("identifiers", () => {
  test.each([
    ["See src/a/b.ts, ./x.py and README.md.", ["src/a/b.ts", "./x.py", "README.md"]],
    ["At C:\\Users\\x\\file.txt or ~/.ssh/config", ["C:\\Users\\x\\file.txt", "~/.ssh/config"]],
    ["Go to https://x.y/z?a=1&b=2.", ["https://x.y/z?a=1&b=2"]],
    ["Mail bob@example.com, @alice, #42", ["bob@example.com", "@alice", "#42"]],
    [
      "550e8400-e29b-41d4-a716-446655440000 deadbeef12",
      ["550e8400-e29b-41d4-a716-446655440000", "deadbeef12"],
    ],
    [
      "Order W123456, PROJ-12, booking code XKQWJD, user mia_li_3668",
      ["W123456", "PROJ-12", "XKQWJD", "mia_li_3668"],
    ],
    ['{"id":"cert_48","n":1}', ["cert_48"]],
    ["v1.2.3 of 7 May 2023 at 1:56 pm", ["v1.2.3", "7 May 2023", "1:56 pm"]],
    ["$1,200.50 or 200 EUR by +1 (555) 123-4567", ["$1,200.50", "200 EUR", "+1 (555) 123-4567"]],
    ["and/or 24/7, e.g. the 90s, 5th, 3-day, 32k words", []],
  ])("in %j", (text, found) => {
    expect(identifiersIn(text)).toEqual(found);
  });

  test("are pieces of the text, each once, whatever it is", () => {
    const text = fc.oneof(fc.string({ maxLength: 500 }), fc.string({ unit: "binary", maxLength: 300 }));
    fc.assert(
      fc.property(text, (any) => {
        const found = identifiersIn(any);
        expect(new Set(found).size).toBe(found.length);
        for (const id of found) expect(any).toContain(id);
      }),
      { seed: 8, numRuns: 500 },
    );
  });

  test.each([
    "a.",
    "/a",
    "1:11 ",
    "123-",
    "a=",
    "1 ",
    "@a",
    "$1,",
    "Mr. ",
    "may 1 ",
    "a_1",
  ])("are found in a megabyte of %j, though not at the square of its length", (piece) => {
    const start = performance.now();
    identifiersIn(piece.repeat(1_000_000 / piece.length));
    expect(performance.now() - start).toBeLessThan(60_000);
  });

  test("are mentioned only as they are, not as a piece of a longer one", () => {
    expect(mentions("see W123 now", "W12")).toBe(false);
    expect(mentions("see W123, W12.", "W12")).toBe(true);
  });
});

describe("open identifiers", () => {
  test("are those of unanswered calls, open tasks, and what the kept turns still use", () => {
    const folded = [
      turn(0, says("USER", "Look at ORD-1, ORD-2 and ORD-3. It costs $120 on 2024-05-20.")),
      turn(1, calls("c1", "get", { id: "ORD-4" }), answers("c1", "fine")),
      turn(2, calls("c2", "get", { id: "ORD-5" })),
      turn(3, says("ASSISTANT", "- [x] src/done.ts\n- [ ] src/open.ts\nNext steps: call ORD-2")),
    ];
    const kept = [turn(4, says("USER", "And ORD-3? I paid $120 on 2024-05-20, again ORD-3. NEW-9 is new."))];
    expect(openIdentifiers(folded, kept)).toEqual(["ORD-3", "ORD-2", "ORD-5", "src/open.ts"]);
  });

  test("are at most 16, the most used first", () => {
    const many = turn(0, says("USER", Array.from({ length: 30 }, (_, at) => `TODO ID-${at}`).join("\n")));
    const often = turn(1, says("USER", "ID-29 ID-29 ID-29 ID-28"));
    const open = openIdentifiers([many, often], []);
    expect(open).toHaveLength(16);
    expect(open.slice(0, 3)).toEqual(["ID-29", "ID-28", "ID-0"]);
  });
});
