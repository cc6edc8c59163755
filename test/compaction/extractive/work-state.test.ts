import { describe, expect, it } from "vitest";
import { summarizeExtractively } from "../../../src/compaction/extractive/extractive.js";
import type { FoldedTurn } from "../../../src/compaction/plan/summary-task.js";
import { defaultPromptTexts } from "../../../src/domain/prompt-texts.js";
import { count } from "../../support/folded-turns.js";
import { answers, calls, says, taskOf, turn } from "./summary-task.js";

const path = "/srv/work/billing-service/packages/ledger/src/settle/settle-open-invoices.ts";
const command = "npx vitest run test/settle/settle-open-invoices.test.ts -t 'settles each invoice once'";

function work(depth: number): FoldedTurn {
  const id = `call_${depth}`;
  const file = `/srv/work/billing-service/packages/report/src/report-part-${depth}.ts`;
  return turn(
    depth,
    says("USER", `Now the report part ${depth}, please.`),
    calls(`${id}a`, "read", { path: file }),
    answers(`${id}a`, `export const reportPart${depth} = "a\\n\\"b\\"";\n`.repeat(40)),
    says("ASSISTANT", `Report part ${depth} is done.`),
  );
}

const first = turn(
  1,
  says("USER", "Please make sure that settleOpenInvoices never settles an invoice twice."),
  calls("call_1a", "read", { path }),
  answers("call_1a", "export function settleOpenInvoices(invoice_rows) {\n  return invoice_rows.length;\n}"),
  calls("call_1b", "bash", { command }),
  answers("call_1b", "FAIL settle-open-invoices.test.ts\nTypeError: invoice_rows.at is not a function", true),
  calls("call_1c", "edit", { path, oldText: "invoice_rows.length", newText: "seenInvoices.size" }),
  answers("call_1c", "Replaced text."),
  calls("call_1d", "bash", { command }),
  answers("call_1d", "1 passed"),
  calls("call_1e", "TodoWrite", {
    todos: [
      { content: "settle once", status: "completed" },
      { content: "write the migration for settled_at", status: "pending" },
    ],
  }),
  answers("call_1e", "ok"),
  says("ASSISTANT", "Invoices are settled once now."),
);

describe("the state of the work in a summary", () => {
  const once = summarizeExtractively(taskOf([first], { maxTokens: 400 }), count);

  it("names files by their whole paths, with how they were used and the names in them", () => {
    expect(once).toMatch(new RegExp(`^${path} \\(read 1x, written 1x\\): .*settleOpenInvoices`, "mu"));
    expect(once).toContain("seenInvoices.size");
  });

  it("has whole commands, errors in their own words with what cured them, and the tasks that are left", () => {
    expect(once).toContain(`\n${command}\n`);
    expect(once).toContain(`TypeError: invoice_rows.at is not a function -> cured by a change of ${path}`);
    expect(once).toContain("[ ] write the migration for settled_at");
    expect(once).toContain("[x] settle once");
  });

  it("carries the request of a turn that is cut in its middle, until the turn is folded whole", () => {
    const asked = "Rename every ledger entry to posting, but leave the archive of 2019 alone.";
    const loop = (at: number) => [
      calls(`call_${at}`, "read", { path: `/srv/work/ledger/part-${at}.ts` }),
      answers(`call_${at}`, `export const part${at} = ${at};\n`.repeat(60)),
    ];
    const heading = defaultPromptTexts["extract-request"];
    const options = { maxTokens: 160, kept: [turn(9, ...loop(99))] };
    let summary = summarizeExtractively(taskOf([turn(9, says("USER", asked), ...loop(0))], options), count);
    for (let at = 1; at <= 10; at++) {
      expect(summary, `compaction ${at}`).toContain(`${heading}\n${asked}`);
      const folded = taskOf([turn(9, ...loop(at))], { ...options, previousSummary: summary });
      summary = summarizeExtractively(folded, count);
      expect(count(summary)).toBeLessThanOrEqual(160);
    }
    const whole = taskOf([turn(9, ...loop(20), says("ASSISTANT", "All is renamed."))], {
      maxTokens: 160,
      previousSummary: summary,
      kept: [turn(10, says("USER", "Thanks."))],
    });
    expect(summarizeExtractively(whole, count)).not.toContain(heading);
  });

  it("is carried on as it is through ten compactions, within the budget", () => {
    let summary = once;
    for (let depth = 2; depth <= 11; depth++) {
      const task = taskOf([work(depth)], { previousSummary: summary, maxTokens: 700 });
      summary = summarizeExtractively(task, count);
      expect(count(summary)).toBeLessThanOrEqual(700);
    }
    expect(summary).toContain(path);
    expect(summary).toContain(command);
    expect(summary).toContain("[ ] write the migration for settled_at");
    expect(summary).toContain("report-part-11.ts");
    expect(summary.split(defaultPromptTexts["extract-files"])).toHaveLength(2);
    expect(summary).not.toMatch(/…\s*…|\\n|\\"/u);
  });

  it("lists no name that the kept turns say", () => {
    const kept = [turn(2, says("ASSISTANT", "I go on with seenInvoices.size and invoice_rows."))];
    const task = taskOf([first], { maxTokens: 400, kept });
    const names = summarizeExtractively(task, count)
      .split("\n")
      .find((line) => line.startsWith(`${path} (`));
    expect(names).toContain("settleOpenInvoices");
    expect(names).not.toContain("seenInvoices.size");
  });

  it("is read by the words that it was written with", () => {
    const words = {
      ...defaultPromptTexts,
      "extract-files": "DATEIEN",
      "extract-file-written": "{{count}}mal geschrieben",
    };
    const written = summarizeExtractively(taskOf([first], { maxTokens: 400, texts: words }), count);
    expect(written).toContain("DATEIEN\n");
    const next = summarizeExtractively(
      taskOf([work(2)], { previousSummary: written, previousWords: words, maxTokens: 700 }),
      count,
    );
    expect(next).toContain(`${path} (read 1x, written 1x)`);
    expect(next).not.toContain("DATEIEN");
  });

  it("takes a time in proportion to the text, whatever is in it", () => {
    const odd = [
      "a/".repeat(40_000),
      "a.".repeat(40_000),
      "x_".repeat(40_000),
      "::".repeat(40_000),
      "é1".repeat(40_000),
    ];
    const started = turn(
      1,
      ...odd.flatMap((text, at) => [calls(`c${at}`, "bash", { command: text }), answers(`c${at}`, text)]),
    );
    expect(count(summarizeExtractively(taskOf([started], { maxTokens: 300 }), count))).toBeLessThanOrEqual(
      300,
    );
  });
});
