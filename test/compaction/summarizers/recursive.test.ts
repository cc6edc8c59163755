import { describe, expect, test } from "vitest";
import type { SummaryTask } from "../../../src/compaction/plan/summary-task.js";
import type { SummaryPrompt } from "../../../src/compaction/summarizers/prompt.js";
import {
  type CallModel,
  type RecursiveOptions,
  summarizeRecursively,
} from "../../../src/compaction/summarizers/recursive.js";
import { chat, count, foldedTurn } from "../../support/folded-turns.js";
import { user } from "../../support/messages.js";

const task: SummaryTask = {
  previousSummary: "",
  turns: chat(12),
  instructions: "",
  maxTokens: 200,
  mustKeep: [],
};
const wide: RecursiveOptions = { windowTokens: 64_000, maxInputTokens: 64_000, tokenRatio: 1 };
const never = new AbortController().signal;

function recorder(answer: (index: number) => string = (index) => `summary-${index}.`) {
  const prompts: SummaryPrompt[] = [];
  const call: CallModel = async (prompt) => {
    prompts.push(prompt);
    return { text: answer(prompts.length - 1), inputTokens: 10, outputTokens: 1 };
  };
  return { prompts, call };
}

describe("recursive", () => {
  test("one call where all fits, with the summary so far", async () => {
    const { prompts, call } = recorder();
    const made = await summarizeRecursively(call, { ...task, previousSummary: "before" }, wide, count, never);
    expect(made).toEqual({ text: "summary-0.", cost: { inputTokens: 10, outputTokens: 1 } });
    expect(prompts).toHaveLength(1);
    expect(prompts[0]?.user).toContain("\nbefore\n");
    expect(prompts[0]?.user).toContain("Question 11:");
  });

  test("the first call has the previous summary, each further one the summary so far instead", async () => {
    const { prompts, call } = recorder();
    const options = { ...wide, chunkTokens: 250 };
    const given = { ...task, previousSummary: "before", instructions: "keep codes" };
    const { text, cost } = await summarizeRecursively(call, given, options, count, never);
    expect(prompts.length).toBeGreaterThan(3);
    expect(text).toBe(`summary-${prompts.length - 1}.`);
    expect(cost).toEqual({ inputTokens: 10 * prompts.length, outputTokens: prompts.length });
    prompts.forEach((prompt, index) => {
      const so = index === 0 ? "before" : `summary-${index - 1}.`;
      expect(/<summary-\w+>\n(.*)\n/.exec(prompt.user)?.[1]).toBe(so);
      expect(prompt.user).toContain("keep codes");
    });
  });

  test("an identifier is asked for when it has come up, and in the last call in any case", async () => {
    const { prompts, call } = recorder((index) => (index < 2 ? "nothing yet" : "has ID-2"));
    const turns = chat(6).map((turn, at) =>
      at === 3 ? foldedTurn(at, user(`mind ID-2 ${"x ".repeat(90)}`)) : turn,
    );
    const mustKeep = ["ID-2", "ID-none"];
    await summarizeRecursively(
      call,
      { ...task, turns, mustKeep },
      { ...wide, chunkTokens: 130 },
      count,
      never,
    );
    const asked = prompts.map(({ user: said }) => /<identifiers-\w+>\n([\s\S]*)\n<\/id/.exec(said)?.[1]);
    const at = prompts.findIndex(({ user: said }) => said.includes("mind ID-2"));
    expect(at).toBeGreaterThan(0);
    expect(asked.slice(0, at).every((list) => list === undefined)).toBe(true);
    expect(asked[at]).toBe("ID-2");
    expect(asked.at(-1)).toBe("ID-2\nID-none");
  });

  test("a summary alone can be summarized, nothing at all cannot", async () => {
    const { prompts, call } = recorder();
    await summarizeRecursively(call, { ...task, turns: [], previousSummary: "long" }, wide, count, never);
    expect(prompts).toHaveLength(1);
    const nothing = summarizeRecursively(call, { ...task, turns: [foldedTurn(1)] }, wide, count, never);
    await expect(nothing).rejects.toThrow("got nothing to summarize");
  });

  test("a window without room for the prompt and a summary is a failure, before anyone is asked", async () => {
    const { prompts, call } = recorder();
    for (const options of [
      { ...wide, windowTokens: 700 },
      { ...wide, maxInputTokens: 400 },
      { ...wide, tokenRatio: 200 },
    ])
      await expect(summarizeRecursively(call, task, options, count, never)).rejects.toThrow(
        "has too small a window or budget for a summary of 200 tokens",
      );
    expect(prompts).toEqual([]);
  });

  test("a model whose summaries grow out of the window fails; it is not sent what it cannot take", async () => {
    const { prompts, call } = recorder(() => "grown ".repeat(3_000));
    const options = { ...wide, windowTokens: 3_000, chunkTokens: 250 };
    await expect(summarizeRecursively(call, task, options, count, never)).rejects.toThrow(
      "too small a window",
    );
    expect(prompts).toHaveLength(1);
  });

  test("an empty answer in the middle is a failure", async () => {
    const { call } = recorder((index) => (index === 1 ? " " : "fine"));
    const work = summarizeRecursively(call, task, { ...wide, chunkTokens: 250 }, count, never);
    await expect(work).rejects.toThrow("answered with nothing");
  });

  test("an abort between two calls makes no further one", async () => {
    const abort = new AbortController();
    const { prompts, call } = recorder((index) => {
      if (index === 1) abort.abort(new Error("enough"));
      return "fine";
    });
    const work = summarizeRecursively(call, task, { ...wide, chunkTokens: 250 }, count, abort.signal);
    await expect(work).rejects.toThrow("enough");
    expect(prompts).toHaveLength(2);
  });
});
