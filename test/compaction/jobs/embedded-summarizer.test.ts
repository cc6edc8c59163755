import { afterAll, describe, expect, test } from "vitest";
import { boundTurns } from "../../../src/compaction/extractive/bound-turns.js";
import { summarizeExtractively } from "../../../src/compaction/extractive/extractive.js";
import { summarizeByImportance } from "../../../src/compaction/extractive/importance.js";
import { summarizeWithDecay } from "../../../src/compaction/extractive/time-decay.js";
import { embeddedSummarizer, findOpenIdentifiers } from "../../../src/compaction/jobs/fold-threads.js";
import type { EmbeddedStrategy } from "../../../src/compaction/jobs/fold-work.js";
import { openIdentifiers } from "../../../src/compaction/plan/identifiers.js";
import type { FoldedTurn, SummaryTask } from "../../../src/compaction/plan/summary-task.js";
import { Offload } from "../../../src/offload/offload.js";
import { count } from "../../support/folded-turns.js";
import { answers, calls, says, smallTalk, taskOf, turn } from "../extractive/summary-task.js";

const offload = new Offload(1);
afterAll(() => offload.close());
const never = new AbortController().signal;

const strategies: readonly (readonly [EmbeddedStrategy, (task: SummaryTask) => string])[] = [
  [{ kind: "extractive" }, (task) => summarizeExtractively(task, count)],
  [{ kind: "importance" }, (task) => summarizeByImportance(task, count)],
  [{ kind: "time_decay", halfLifeTurns: 4 }, (task) => summarizeWithDecay(task, count, 4)],
];
const talk = (turns: number) => Array.from({ length: turns }, (_, at) => smallTalk(at));
const tooled = (at: number): FoldedTurn =>
  turn(
    at,
    says("USER", `Where is ORD-${at}?`),
    calls(`c${at}`, "get", { id: at }),
    answers(`c${at}`, "lost"),
  );
const short = taskOf(talk(3));
const long = taskOf([...talk(150), ...Array.from({ length: 150 }, (_, at) => tooled(at))], {
  previousSummary: "Facts and decisions:\nAda: I live in Porto.",
  instructions: "keep the orders",
  mustKeep: ["ORD-7"],
});

describe("an embedded summarizer", () => {
  test.each(
    strategies,
  )("gives the words of the plain function, in a thread or not: %o", async (strategy, plain) => {
    const summarizer = embeddedSummarizer(offload, "test", "", strategy);
    for (const task of [short, long]) {
      const { text, cost } = await summarizer.summarize(task, never);
      expect(text).toBe(plain(task));
      expect(cost).toEqual({ inputTokens: 0, outputTokens: 0 });
    }
  });

  test("stops when it is aborted, before and in the middle", async () => {
    const summarizer = embeddedSummarizer(offload, "test", "", { kind: "extractive" });
    await expect(summarizer.summarize(long, AbortSignal.abort())).rejects.toThrow();
    const abort = new AbortController();
    setImmediate(() => abort.abort());
    await expect(summarizer.summarize(long, abort.signal)).rejects.toThrow();
  });

  const huge = {
    "letters without a space": "x".repeat(1_000_000),
    "bytes that are no text": Array.from({ length: 300_000 }, (_, at) =>
      String.fromCharCode((at * 7_919) % 256),
    ).join(""),
    "100,000 one-word lines": Array.from({ length: 100_000 }, (_, at) => `word${at % 5_000}`).join("\n"),
    "numbers and slashes": "1:11/2 ".repeat(100_000),
    "50,000 identifiers": Array.from({ length: 50_000 }, (_, at) => `src/file-${at}.ts`).join(" "),
  };

  test.each(Object.entries(huge))("lets others work while it reads a message of %s", async (_, text) => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const task = taskOf([turn(0, says("USER", text))], { mustKeep: ["ORD-1"] });
    const summarizer = embeddedSummarizer(offload, "test", "", { kind: "extractive" });
    const summary = await summarizer.summarize(task, never);
    await findOpenIdentifiers(offload, task.turns, [], never);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(20);
    expect(count(summary.text)).toBeLessThanOrEqual(task.maxTokens);
    expect(summary.text).toContain("ORD-1");
  });
});

describe("identifiers of open work", () => {
  test("are the same in a thread or not", async () => {
    for (const size of [2, 2_000]) {
      const folded = Array.from({ length: size }, (_, at) =>
        turn(at, says("USER", `TODO: look at src/file-${at % 40}.ts`)),
      );
      const kept = [turn(size, says("USER", "What of src/file-1.ts?"))];
      expect(await findOpenIdentifiers(offload, folded, kept, never)).toEqual(openIdentifiers(folded, kept));
    }
  });
});

describe("turns with more text than is read", () => {
  const textsOf = (turns: readonly FoldedTurn[]) =>
    turns.flatMap(({ messages }) =>
      messages.flatMap(({ parts }) =>
        parts.map(({ content }) => (content?.$case === "text" ? content.value.text : "")),
      ),
    );

  test("are given back as they are up to the bound", () => {
    const turns = [turn(0, says("USER", "x".repeat(600)), says("ASSISTANT", "y".repeat(400)))];
    expect(boundTurns(turns, 1_000)).toBe(turns);
    expect(boundTurns(turns, 999)).not.toBe(turns);
  });

  test("lose the middle of their longest texts, and no text that is short", () => {
    const words = Array.from({ length: 4_000 }, (_, at) => `w${at}`).join(" ");
    const turns = [turn(0, says("USER", words), says("ASSISTANT", "y".repeat(500)))];
    const [cut, kept] = textsOf(boundTurns(turns, 5_000));
    expect(kept).toBe("y".repeat(500));
    expect(cut!.length).toBeLessThan(4_600);
    expect(cut!.length).toBeGreaterThan(3_500);
    expect(cut).toMatch(/^w0 w1 .* ?\n…\n ?\S.* w3999$/u);
  });

  test("are summarized all the same: 20 MB of words in one message", async () => {
    const words = Array.from({ length: 400_000 }, (_, at) => `word${at % 9_000}`).join(" ");
    const parts = Array.from({ length: 6 }, () => says("USER", words).parts[0]!);
    const large = { ...turn(0, says("USER", "Ship ORD-9 to Ada.")), tokens: 6_000_000 };
    const messages = [...large.messages, { ...large.messages[0]!, parts }];
    const task = taskOf([{ ...large, messages }], { mustKeep: ["ORD-9"] });
    const summarizer = embeddedSummarizer(offload, "test", "", { kind: "extractive" });
    expect((await summarizer.summarize(task, never)).text).toContain("ORD-9");
  });
});
