import { describe, expect, test } from "vitest";
import { summarizeExtractively } from "../../src/compaction/extractive.js";
import { extractiveSummarizer } from "../../src/compaction/extractive-summarizer.js";
import { count } from "../support/folded-turns.js";
import { says, smallTalk, taskOf, turn } from "./summary-task.js";

const summarizer = extractiveSummarizer(count);
const talk = taskOf(Array.from({ length: 200 }, (_, at) => smallTalk(at)));

describe("extractive summarizer", () => {
  test("gives the text of the plain function, for nothing", async () => {
    const { text, cost } = await summarizer.summarize(talk, new AbortController().signal);
    expect(text).toBe(summarizeExtractively(talk, count));
    expect(cost).toEqual({ inputTokens: 0, outputTokens: 0 });
  });

  test("stops when it is aborted, before and in the middle", async () => {
    await expect(summarizer.summarize(talk, AbortSignal.abort())).rejects.toThrow();
    const abort = new AbortController();
    setImmediate(() => abort.abort());
    await expect(summarizer.summarize(talk, abort.signal)).rejects.toThrow();
  });

  const huge = {
    "letters without a space": "x".repeat(1_000_000),
    "bytes that are no text": Array.from({ length: 300_000 }, (_, at) =>
      String.fromCharCode((at * 7_919) % 256),
    ).join(""),
    "short lines": Array.from({ length: 50_000 }, (_, at) => `a${at}\n`).join(""),
    "numbers and slashes": "1:11/2 ".repeat(100_000),
  };

  test.each(Object.entries(huge))("lets others work while it reads a message of %s", async (_, text) => {
    let turns = 0;
    let isDone = false;
    const watch = () => {
      turns++;
      if (!isDone) setImmediate(watch);
    };
    setImmediate(watch);
    const task = taskOf([turn(0, says("USER", text))], { mustKeep: ["ORD-1"] });
    const summary = await summarizer.summarize(task, new AbortController().signal);
    isDone = true;
    expect(turns).toBeGreaterThan(50);
    expect(count(summary.text)).toBeLessThanOrEqual(task.maxTokens);
    expect(summary.text).toContain("ORD-1");
  });
});
