import { describe, expect, test } from "vitest";
import { checkSummary, type SummaryCheck } from "../../../src/compaction/plan/check-summary.js";

const good: SummaryCheck = {
  text: "The order call_12 of anna@x.io waits; see src/a.ts.",
  tokens: 20,
  replacedTokens: 100,
  maxTokens: 50,
  mustKeep: ["call_12", "anna@x.io", "src/a.ts"],
};

describe("check-summary", () => {
  test("takes a summary that is shorter, within its limit and has every identifier", () => {
    expect(checkSummary(good)).toBeUndefined();
    expect(checkSummary({ ...good, tokens: 50, mustKeep: ["", "call_12"] })).toBeUndefined();
  });

  const refused: readonly (readonly [string, Partial<SummaryCheck>, string])[] = [
    ["nothing", { text: "" }, "is empty"],
    ["white space", { text: " \n\t\u00a0" }, "is empty"],
    ["control characters only", { text: "\u0000\u0007\u001b" }, "has no letter and no number in it"],
    ["marks only", { text: "... --- ..." }, "has no letter and no number in it"],
    [
      "as much as it replaces",
      { tokens: 100, maxTokens: 500 },
      "is not shorter than what it replaces (100 tokens for 100)",
    ],
    [
      "more than it replaces",
      { tokens: 101, maxTokens: 500 },
      "is not shorter than what it replaces (101 tokens for 100)",
    ],
    ["more than its limit", { tokens: 51 }, "is over its limit (51 tokens of 50)"],
    ["no identifier", { text: "fine" }, 'drops the identifier "call_12" and 2 more'],
    ["an identifier in other letters", { mustKeep: ["Call_12"] }, 'drops the identifier "Call_12"'],
    ["a longer identifier instead", { mustKeep: ["call_1"] }, 'drops the identifier "call_1"'],
    ["a longer beginning instead", { mustKeep: ["all_12"] }, 'drops the identifier "all_12"'],
  ];

  test.each(refused)("refuses %s", (_, change, reason) => {
    expect(checkSummary({ ...good, ...change })).toBe(reason);
  });

  test("an identifier that stands alone once is enough, and may have any script or mark beside it", () => {
    for (const text of [
      "call_12 and call_1.",
      "(call_1)",
      "订单call_1在",
      "`call_1`",
      "call_12call_1 call_1",
    ])
      expect(checkSummary({ ...good, text, mustKeep: ["call_1"] }), text).toBeUndefined();
    expect(checkSummary({ ...good, text: "id=[x]y", mustKeep: ["[x]"] })).toBeUndefined();
  });

  test("the reason is one short line, whatever the identifier", () => {
    const reason = checkSummary({ ...good, mustKeep: [`a\nb\u001b${"x".repeat(500)}`] }) ?? "";
    expect(reason.length).toBeLessThan(130);
    expect(reason).not.toMatch(/\p{Cc}/u);
  });
});
