import { afterAll, describe, expect, test } from "vitest";
import { changedLines } from "../../src/assembly/prefix/changed-lines.js";
import { sectionUpdate, updateOf } from "../../src/assembly/prefix/section-update.js";
import { defaultPromptTexts } from "../../src/domain/prompt-texts.js";
import { Offload } from "../../src/offload/offload.js";
import { change } from "./change.js";
import { WarmDesk } from "./warm-desk.js";

const offload = new Offload(1);
afterAll(() => offload.close());

const lines = (count: number, text: (line: number) => string) =>
  Array.from({ length: count }, (_, line) => `${text(line)}\n`).join("");
/** Lines of about 60 bytes: 16,000 of them are almost 1 MB. */
const rule = (line: number, word: string) =>
  `- Rule ${line}: answer ${word} in full, kind sentences, always.`;
const document = (count: number, edited = 0, word = "twice") =>
  lines(count, (line) => rule(line, line < edited ? word : "once"));
/** As many edited lines, none beside another. */
const scattered = (count: number, edited: number) =>
  lines(count, (line) => rule(line, line % 2 === 0 && line < 2 * edited ? "twice" : "once"));

describe("the lines that changed", () => {
  test("are those between which nothing is the same, with one line around them", () => {
    expect(changedLines({ before: "a\nb\nc\nd\ne", now: "a\nb\nC\nd\ne" })).toBe(" b\n-c\n+C\n d");
    expect(changedLines({ before: "a\nb", now: "A\nb\nc" })).toBe("-a\n+A\n b\n+c");
    expect(changedLines({ before: lines(9, String), now: `x\n${lines(9, String)}y` })).toBe(
      "+x\n 0\n...\n 8\n+y",
    );
  });

  test("are found in any beginning and end that two texts share", () => {
    for (const [before, now] of [
      ["a\na\na", "a\na"],
      ["a\na", "a\na\na\nb"],
      ["ab\nab", "ab\nabab"],
      ["\n\n\n", "\n\n"],
      ["x\r\ny\r\nz", "x\r\nY\r\nz"],
    ] as const) {
      const told = changedLines({ before, now })!.split("\n");
      const [removed, added] = [
        told.filter((line) => line[0] === "-"),
        told.filter((line) => line[0] === "+"),
      ];
      const count = (text: string) => (text.endsWith("\n") ? text : `${text}\n`).split("\n").length;
      expect(added.length - removed.length).toBe(count(now) - count(before));
    }
  });

  test("are told up to 256 that came or went, and not beyond", () => {
    const before = document(2_000);
    expect(changedLines({ before, now: scattered(2_000, 128) })?.match(/^[+-]/gm)).toHaveLength(256);
    expect(changedLines({ before, now: scattered(2_000, 129) })).toBeUndefined();
  });

  test("are looked for in up to 32,768 lines from the first to the last of them, and not beyond", () => {
    const ends = (count: number) => ({
      before: `a\n${"=\n".repeat(count)}b\n`,
      now: `A\n${"=\n".repeat(count)}B\n`,
    });
    expect(changedLines(ends(16_382))).toBe("-a\n+A\n =\n...\n =\n-b\n+B");
    expect(changedLines(ends(16_383))).toBeUndefined();
  });

  test("are looked for in up to 4 MiB of text, and not beyond", () => {
    const half = 2 * 1024 * 1024;
    const long = (chars: number) => `${"x".repeat(chars - 3)}\n`;
    expect(changedLines({ before: `${long(half)}a\n`, now: `${long(half)}b\n` })).toBe(
      ` ${"x".repeat(half - 3)}\n-a\n+b`,
    );
    expect(changedLines({ before: `${long(half)}a\n`, now: `${long(half)}bc\n` })).toBeUndefined();
  });

  test("of a few in a document of 500,000 lines are a short diff", () => {
    const around = (line: string) => `${"a\n".repeat(300_000)}${line}\n${"b\n".repeat(199_999)}`;
    expect(changedLines({ before: around("x"), now: around("y") })).toBe(" a\n-x\n+y\n b");
  });
});

describe("the update of a section", () => {
  test.each([
    ["a few bytes", "a\nb\nc", "a\nB\nc"],
    ["one edit in 1 MB", document(16_000), document(16_000, 1)],
    ["256 edits", document(2_000), scattered(2_000, 128)],
    ["257 edits", document(2_000), scattered(2_000, 129)],
    ["16,000 edits in 1 MB", document(16_000), document(16_000, 16_000)],
    ["1 MB of lines of one character", "a\nb\n".repeat(250_000), "b\na\n".repeat(250_000)],
    ["one line of 1 MB", "x".repeat(1_000_000), `${"x".repeat(999_999)}y`],
  ])("is the same in a worker thread and without one: %s", async (_, before, now) => {
    const change = { before, now };
    expect(await sectionUpdate(offload, defaultPromptTexts, "soul", change)).toEqual(
      updateOf(defaultPromptTexts, "soul", change, changedLines(change)),
    );
  });

  test("tells the whole section where finding the lines is too much work", async () => {
    const change = { before: document(16_000), now: document(16_000, 16_000) };
    const { text } = await sectionUpdate(offload, defaultPromptTexts, "soul", change);
    expect(text).toBe(
      `[System prompt update: soul]\nThis section now reads:\n${change.now}\n[End of update]`,
    );
  });
});

describe("a warm session whose document of 1 MB changes", () => {
  async function largeDesk() {
    const desk = await WarmDesk.open();
    await desk.write({ "AGENTS.md": document(16_000) });
    return { desk, first: await desk.turn() };
  }

  test("in one line is told that line", async () => {
    const { desk, first } = await largeDesk();
    await desk.write({ "AGENTS.md": document(16_000, 1) });
    const second = await desk.assemble();
    expect(second.system.text).toBe(first.system.text);
    expect(second.context).toContain(`-${rule(0, "once")}\n+${rule(0, "twice")}\n ${rule(1, "once")}\n[End`);
    expect(second.context.length).toBeLessThan(1_000);
  });

  test("in all of its 16,000 lines has its system prompt written anew, and the event loop runs meanwhile", async () => {
    const { desk } = await largeDesk();
    await desk.write({ "AGENTS.md": document(16_000, 16_000) });
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const second = await desk.assemble();
    clearInterval(timer);
    expect(turns).toBeGreaterThan(20);
    expect(second.prefix).toMatchObject({ pinned: false, cause: change("CARRYING_COSTS_MORE") });
    expect(second.system.text).toContain(rule(15_999, "twice"));
    expect(second.context).not.toContain("Update");
  });
});
