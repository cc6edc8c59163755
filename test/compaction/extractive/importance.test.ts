import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { summarizeByImportance } from "../../../src/compaction/extractive/importance.js";
import { mentions } from "../../../src/compaction/plan/identifiers.js";
import { count } from "../../support/folded-turns.js";
import { answers, anyTask, calls, says, smallTalk, taskOf, turn } from "./summary-task.js";

const opening = turn(
  0,
  says("USER", "I want the Okonkwo archive moved to Utrecht by 3 May. Never email Beatrix."),
);
const talk = Array.from({ length: 30 }, (_, at) => smallTalk(at + 1));

describe("importance", () => {
  test("keeps the first request, decisions and errors as they were said", () => {
    const turns = [
      opening,
      ...talk.slice(0, 15),
      turn(
        16,
        says("ASSISTANT", "We decided to use Van Dijk because ticket MOVE-17 needs fireproof crates."),
      ),
      turn(17, calls("c", "book_van", { id: "MOVE-17" }), answers("c", "Error: no van left", true)),
      ...talk.slice(15),
    ];
    const text = summarizeByImportance(taskOf(turns, { maxTokens: 150 }), count);
    expect(text).toContain(
      "User: I want the Okonkwo archive moved to Utrecht by 3 May. Never email Beatrix.",
    );
    expect(text).toContain(
      "Assistant: We decided to use Van Dijk because ticket MOVE-17 needs fireproof crates.",
    );
    expect(text).toContain("book_van(id=MOVE-17) -> error: Error: no van left");
  });

  test("keeps the first request over 20 summaries of summaries", () => {
    let previousSummary = "";
    for (let round = 0; round < 20; round++) {
      const turns = Array.from({ length: 8 }, (_, at) => smallTalk(round * 8 + at));
      const task = taskOf(round === 0 ? [opening, ...turns] : turns, { previousSummary, maxTokens: 200 });
      previousSummary = summarizeByImportance(task, count);
    }
    expect(previousSummary).toContain("Okonkwo");
    expect(previousSummary).toContain("Never email Beatrix");
  });

  test("clips a long message rather than dropping it", () => {
    const long = turn(0, says("USER", `Please keep this: ORD-7 must stay. ${"and so on ".repeat(2_000)}`));
    const text = summarizeByImportance(taskOf([long, ...talk], { maxTokens: 100 }), count);
    expect(text).toMatch(/User: Please keep this: ORD-7 must stay\..*…/u);
  });

  test("is within its budget, the same each time, whole in what must be kept, for any text", () => {
    fc.assert(
      fc.property(anyTask, (task) => {
        const text = summarizeByImportance(task, count);
        expect(summarizeByImportance(task, count)).toBe(text);
        expect(count(text)).toBeLessThanOrEqual(task.maxTokens);
        const isAnything = task.turns.some(({ tokens }) => tokens > 0);
        if (isAnything && count([...new Set(task.mustKeep)].join(" ")) <= task.maxTokens)
          for (const id of task.mustKeep) expect(mentions(text, id)).toBe(true);
      }),
      { seed: 5, numRuns: 300 },
    );
  });
});
