import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { summarizeWithDecay } from "../../../src/compaction/extractive/time-decay.js";
import { mentions } from "../../../src/compaction/plan/identifiers.js";
import { count } from "../../support/folded-turns.js";
import { anyTask, says, taskOf, turn } from "./summary-task.js";

/** Turns that each say as much, in words of their own. */
const even = Array.from({ length: 40 }, (_, at) =>
  turn(
    at,
    says(
      "USER",
      Array.from(
        { length: 6 },
        (_, line) => `Crate number ${at}-${line} holds letters from Town${at}x${line}.`,
      ).join(" "),
    ),
  ),
);

function cratesOf(text: string, from: number, to: number): number {
  const ages = [...text.matchAll(/Crate number (\d+)-\d/gu)].map((match) => Number(match[1]));
  return ages.filter((at) => at >= from && at < to).length;
}

describe("time decay", () => {
  test("tells the last turns in detail, old ones in a few words or not at all", () => {
    const text = summarizeWithDecay(taskOf(even, { maxTokens: 600 }), count, 5);
    expect(cratesOf(text, 35, 40)).toBeGreaterThan(cratesOf(text, 30, 35));
    expect(cratesOf(text, 30, 35)).toBeGreaterThan(cratesOf(text, 20, 25));
    expect(cratesOf(text, 0, 10)).toBeLessThanOrEqual(1);
  });

  test("tells more of what is old with a longer half-life", () => {
    const old = (halfLife: number) =>
      cratesOf(summarizeWithDecay(taskOf(even, { maxTokens: 600 }), count, halfLife), 0, 20);
    expect(old(40)).toBeGreaterThan(old(4));
  });

  test("gives the summary before the share of all the turns that it stands for", () => {
    const previousSummary = "User: The archive of Ada Okonkwo moves to Utrecht.";
    const few = taskOf(even.slice(0, 4), { previousSummary, maxTokens: 250 });
    expect(summarizeWithDecay(few, count, 10)).toContain("Okonkwo");
    const many = taskOf(even, { previousSummary, maxTokens: 250 });
    expect(summarizeWithDecay(many, count, 2)).not.toContain("Okonkwo");
  });

  test("is within its budget, the same each time, whole in what must be kept, for any text and half-life", () => {
    const halfLife = fc.oneof(fc.double(), fc.integer({ min: 1, max: 50 }));
    fc.assert(
      fc.property(anyTask, halfLife, (task, turns) => {
        const text = summarizeWithDecay(task, count, turns);
        expect(summarizeWithDecay(task, count, turns)).toBe(text);
        expect(count(text)).toBeLessThanOrEqual(task.maxTokens);
        const isAnything = task.turns.some(({ tokens }) => tokens > 0);
        if (isAnything && count([...new Set(task.mustKeep)].join(" ")) <= task.maxTokens)
          for (const id of task.mustKeep) expect(mentions(text, id)).toBe(true);
      }),
      { seed: 6, numRuns: 300 },
    );
  });
});
