import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { summarizeExtractively } from "../../../src/compaction/extractive/extractive.js";
import { readPrevious } from "../../../src/compaction/extractive/previous-lines.js";
import { mentions } from "../../../src/compaction/plan/identifiers.js";
import { defaultPromptTexts, type PromptTexts } from "../../../src/domain/prompt-texts.js";
import { count } from "../../support/folded-turns.js";
import { answers, anyTask, calls, says, smallTalk, taskOf, turn } from "./summary-task.js";

const talk = Array.from({ length: 30 }, (_, at) => smallTalk(at + 1));
const opening = turn(
  0,
  says(
    "USER",
    "Hi there! I want you to plan the move of the Okonkwo archive to Utrecht. Never email Beatrix about it.",
  ),
  says("ASSISTANT", "Understood. We decided to use crates from Van Dijk because they are fireproof."),
);

describe("extractive", () => {
  test("keeps goals, rules and decisions among much talk", () => {
    const text = summarizeExtractively(taskOf([opening, ...talk]), count);
    expect(text).toContain("plan the move of the Okonkwo archive to Utrecht");
    expect(text).toContain("Never email Beatrix");
    expect(text).toContain("Van Dijk");
    expect(text.startsWith("Goals and instructions:\n")).toBe(true);
  });

  test("keeps every identifier of open work", () => {
    const mustKeep = ["ORD-4711", "src/deep/path/main.ts", "https://example.com/t/9?x=1", "W12"];
    const text = summarizeExtractively(taskOf([opening, ...talk], { mustKeep, maxTokens: 120 }), count);
    for (const id of mustKeep) expect(mentions(text, id)).toBe(true);
  });

  test("keeps identifiers alone where there is room for nothing else", () => {
    const mustKeep = ["ORD-4711", "W12"];
    const maxTokens = count(mustKeep.join(" "));
    const text = summarizeExtractively(taskOf(talk, { mustKeep, maxTokens }), count);
    expect(count(text)).toBeLessThanOrEqual(maxTokens);
    for (const id of mustKeep) expect(mentions(text, id)).toBe(true);
  });

  test("tells calls in one line, and what has no answer as open", () => {
    const turns = [
      turn(0, says("USER", "Where is my order?")),
      turn(1, calls("c1", "get_order", { id: "W123" }), answers("c1", '{"status":"pending","items":[1,2]}')),
      turn(2, calls("c2", "cancel_order", { id: "W123" }), answers("c2", "Error: already shipped", true)),
      turn(3, calls("c3", "refund", { id: "W123", amount: 12 })),
    ];
    const text = summarizeExtractively(taskOf(turns), count);
    expect(text).toContain("get_order(id=W123) -> status pending, items 2 items");
    expect(text).toContain("cancel_order(id=W123) -> error: Error: already shipped");
    expect(text).toContain("Open:\nrefund(id=W123, amount=12): no answer yet");
  });

  test("keeps unchecked tasks as open", () => {
    const list = turn(
      31,
      says("ASSISTANT", "Progress so far:\n- [x] order crates\n- [ ] label crate 17 for Utrecht"),
    );
    const text = summarizeExtractively(taskOf([opening, ...talk, list], { maxTokens: 200 }), count);
    expect(text).toMatch(/Open:\n.*label crate 17 for Utrecht/u);
  });

  test("says each sentence once", () => {
    const again = Array.from({ length: 10 }, (_, at) =>
      turn(at, says("USER", "Please ship crate 17 to Utrecht.")),
    );
    const text = summarizeExtractively(taskOf(again), count);
    expect(text.match(/crate 17/gu)).toHaveLength(1);
  });

  test("prefers what the instructions ask for", () => {
    const few = { maxTokens: 80 };
    const asked = summarizeExtractively(
      taskOf(talk, { ...few, instructions: "keep everything about Tallinn" }),
      count,
    );
    expect(asked).toContain("Tallinn");
  });

  test("says the day of what was said about another day, where turns are of several days", () => {
    const turns = [opening, ...talk].map((each, at) => ({ ...each, createdMs: Date.UTC(2023, 4, 1 + at) }));
    expect(summarizeExtractively(taskOf(turns), count)).toMatch(/\[2023-05-\d\d\] User: Yesterday/u);
  });

  test("names the speakers of a script", () => {
    const lines = [
      "Ada: I moved to Porto in 2019.",
      "Bo: My sister Imke lives there.",
      "Ada: Say hello to Imke from me!",
    ];
    const script = Array.from({ length: 4 }, (_, round) =>
      turn(
        round,
        ...lines.map((line, at) => says(at % 2 === 0 ? "USER" : "ASSISTANT", `${line} Round ${round}.`)),
      ),
    );
    const text = summarizeExtractively(taskOf(script), count);
    expect(text).toContain("Ada: I moved to Porto in 2019.");
    expect(text).toContain("Bo: My sister Imke lives there.");
  });

  test("keeps its form, its length and the first goals over 20 summaries of summaries", () => {
    let previousSummary = "";
    for (let round = 0; round < 20; round++) {
      const turns = Array.from({ length: 12 }, (_, at) => smallTalk(round * 12 + at));
      const task = taskOf(round === 0 ? [opening, ...turns] : turns, { previousSummary, maxTokens: 250 });
      previousSummary = summarizeExtractively(task, count);
      expect(count(previousSummary)).toBeLessThanOrEqual(250);
      expect(previousSummary.match(/^Goals and instructions:$/gmu)).toHaveLength(1);
      expect(previousSummary.match(/^Facts and decisions:$/gmu)).toHaveLength(1);
    }
    expect(previousSummary).toContain("plan the move of the Okonkwo archive to Utrecht");
    expect(previousSummary).toContain("Never email Beatrix");
  });

  test("keeps every line in its group, whatever words the summary before was written with", () => {
    const word = fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
      .map((text) => `${text.trim()}w`);
    const wordsOf = fc.uniqueArray(word, { minLength: 8, maxLength: 8 }).map((words): PromptTexts => {
      const [goals, facts, open, tools, identifiers, mentioned, speaker, helper] = words.map(
        (each, at) =>
          // One line, as templates are, and not one that begins another.
          `${at}${each.replace(/\s+/gu, " ")}`,
      );
      return {
        ...defaultPromptTexts,
        "extract-goals": goals!,
        "extract-facts": facts!,
        "extract-open": open!,
        "extract-tools": tools!,
        "extract-identifiers": identifiers!,
        "extract-mentioned": mentioned!,
        "extract-user": speaker!,
        "extract-assistant": helper!,
      };
    });
    const mustKeep = ["ORD-4711"];
    fc.assert(
      fc.property(wordsOf, wordsOf, (then, now) => {
        const task = taskOf([opening, ...talk], { texts: then, mustKeep });
        const before = summarizeExtractively(task, count);
        const read = (summary: string, words: PromptTexts) =>
          readPrevious(summary, words, defaultPromptTexts);
        const plain = summarizeExtractively({ ...task, texts: defaultPromptTexts }, count);
        const groups = (summary: string, words: PromptTexts) =>
          new Map(read(summary, words).lines.map((line) => [line.sentences.join(" "), line.group]));
        // What both hold is read as the same.
        const ofPlain = groups(plain, defaultPromptTexts);
        for (const [text, group] of groups(before, then))
          if (ofPlain.has(text)) expect(group).toBe(ofPlain.get(text));
        expect(read(before, then).terms).toContain("ORD-4711");
        const after = summarizeExtractively(
          taskOf(talk, { previousSummary: before, previousWords: then, texts: now }),
          count,
        );
        expect(after.split("\n")[0]).toBe(now["extract-goals"]);
        for (const name of ["extract-goals", "extract-facts", "extract-open", "extract-tools"] as const)
          if (then[name] !== now[name]) expect(after.split("\n")).not.toContain(then[name]);
      }),
      { numRuns: 40, seed: 7 },
    );
  });

  test("takes in a summary that somebody else wrote", () => {
    const previousSummary =
      "[Previous conversation summary]\n## Goals\n- Ship the **Okonkwo** archive\n\n## Pending\n- Call Imke about dock 7\n";
    const text = summarizeExtractively(taskOf(talk, { previousSummary, maxTokens: 200 }), count);
    expect(text).toMatch(/^Goals and instructions:\n.*Okonkwo/u);
    expect(text).toMatch(/Open:\n.*Call Imke about dock 7/u);
    expect(text).not.toContain("##");
    expect(text).not.toContain("[Previous");
  });

  test("is within its limits, the same each time, whole in what must be kept, for any text", () => {
    fc.assert(
      fc.property(anyTask, (task) => {
        const text = summarizeExtractively(task, count);
        expect(summarizeExtractively(task, count)).toBe(text);
        expect(count(text)).toBeLessThanOrEqual(task.maxTokens);
        const isThereAnything = task.turns.some(({ messages }) =>
          messages.some(({ parts }) =>
            parts.some(({ content }) => content?.$case === "text" && /\w/u.test(content.value.text)),
          ),
        );
        if (isThereAnything && task.maxTokens > 8) expect(text).not.toBe("");
        const replaced =
          count(task.previousSummary) + task.turns.reduce((sum, { tokens }) => sum + tokens, 0);
        if (task.mustKeep.length === 0) expect(count(text)).toBeLessThanOrEqual(replaced);
        if (count([...new Set(task.mustKeep)].join(" ")) <= task.maxTokens && replaced > 0)
          for (const id of task.mustKeep) expect(mentions(text, id)).toBe(true);
      }),
      { seed: 4, numRuns: 400 },
    );
  });
});
