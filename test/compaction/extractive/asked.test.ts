import { describe, expect, it } from "vitest";
import { summarizeExtractively } from "../../../src/compaction/extractive/extractive.js";
import { summarizeByImportance } from "../../../src/compaction/extractive/importance.js";
import { summarizeByCount } from "../../../src/compaction/extractive/left-out.js";
import { summarizeWithDecay } from "../../../src/compaction/extractive/time-decay.js";
import type { FoldedTurn, SummaryTask } from "../../../src/compaction/plan/summary-task.js";
import { count } from "../../support/folded-turns.js";
import { answers, calls, says, taskOf, turn } from "./summary-task.js";

const strategies: Readonly<Record<string, (task: SummaryTask) => string>> = {
  extractive: (task) => summarizeExtractively(task, count),
  importance: (task) => summarizeByImportance(task, count),
  "time decay": (task) => summarizeWithDecay(task, count, 4),
  truncate: (task) => summarizeByCount(task, count),
};

const orders = Array.from({ length: 55 }, (_, at) => `W${2_000_000 + at * 7_919}`);

function orderTurn(order: string, at: number): FoldedTurn {
  return turn(
    at + 1,
    says("USER", `What about my order ${order}? I live in Lisbon at number 12 and the weather is fine.`),
    calls(`c${at}`, "get_order", { order_id: order, verbose: true }),
    answers(`c${at}`, JSON.stringify({ order_id: order, status: "shipped", warehouse: `H${900_000 + at}` })),
    says("ASSISTANT", `Your order ${order} has left the warehouse. Anything else?`),
  );
}

const turns = orders.map(orderTurn);
const instructions = "Please keep all order numbers";

describe.each(Object.entries(strategies))("instructions, by %s", (_, summarize) => {
  it("keep everything of a kind where it fits, and nothing of another in its list", () => {
    const summary = summarize(taskOf(turns, { instructions, maxTokens: 1_200 }));
    expect(orders.filter((order) => !summary.includes(order))).toEqual([]);
    expect(summary.split("\n")[0]).not.toContain("H900001");
    expect(count(summary)).toBeLessThanOrEqual(1_200);
  });

  it("say how many had no room", () => {
    const summary = summarize(taskOf(turns, { instructions, maxTokens: 300 }));
    const line = summary.split("\n")[0]!;
    const kept = orders.filter((order) => line.includes(order)).length;
    expect(line).toMatch(new RegExp(`\\(and ${orders.length - kept} more that did not fit\\)$`, "u"));
    expect(count(summary)).toBeLessThanOrEqual(300);
  });

  it("are carried on by compactions that nobody gave any", () => {
    const first = summarize(taskOf(turns.slice(0, 20), { instructions, maxTokens: 1_200 }));
    const second = summarize(taskOf(turns.slice(20, 30), { previousSummary: first, maxTokens: 1_200 }));
    expect(orders.slice(0, 20).filter((order) => !second.includes(order))).toEqual([]);
  });
});

describe("a word of the instructions", () => {
  it("weighs however often it is said", () => {
    const talk = Array.from({ length: 80 }, (_, at) =>
      turn(
        at + 1,
        says("USER", `Tell me about Town${at} and the Harbour Museum of Number ${at * 31} there.`),
        says("ASSISTANT", `Town${at} is fine. The budget of week ${at} is mostly the same as before.`),
      ),
    );
    const said = (given: string) =>
      summarizeExtractively(taskOf(talk, { instructions: given, maxTokens: 400 }), count).match(/budget/gu)
        ?.length ?? 0;
    expect(said("Keep what was said of the budgets.")).toBeGreaterThan(said("") + 3);
  });
});
