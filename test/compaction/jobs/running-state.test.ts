import { describe, expect, onTestFinished, test } from "vitest";
import type { Message } from "../../../src/contract/gen/quire/v1/message.js";
import { openTestQuire, type TestQuire } from "../../assembly/engine.js";
import { growSession, longSession } from "../../assembly/long-session.js";
import { assistant, toolCalls, toolResults, user } from "../../support/messages.js";
import { startModelServer } from "../../support/model-server.js";

const paths = ["/srv/app/src/load-order.ts", "/srv/app/src/store-order.ts"] as const;

/** A turn in which a file is read. */
function readingTurn(path: string, number: number): Message[] {
  const call = toolCalls(`read-${number}`);
  const { content } = call.parts[0]!;
  if (content?.$case !== "toolCall") throw new Error("is no call");
  const value = { ...content.value, name: "read", argumentsJson: JSON.stringify({ path }) };
  const called = { ...call, parts: [{ content: { $case: "toolCall" as const, value } }] };
  const words = "and then nobody knew where the parcel went that left the house ".repeat(6);
  return [user(`Look at file ${number}, ${words}`), called, toolResults(`read-${number}`), assistant(words)];
}

const turnOf = (number: number) => readingTurn(paths[number > 6 ? 1 : 0], number);

async function compactTwice(quire: TestQuire, compact: () => Promise<string>) {
  const head = await longSession(quire, "work", 6, turnOf);
  const first = await compact();
  await growSession(quire, "work", [7, 12], head, turnOf);
  return { first, second: await compact() };
}

/** What a summary says before the state of the work. */
const wordsOf = (summary: string) => summary.split("\nFiles")[0];

describe("the state of the work", () => {
  test("stands behind what a model writes, and is carried on as it is; the model does not get it", async () => {
    const prompts: string[] = [];
    const model = await startModelServer(({ user: prompt }) => {
      prompts.push(prompt);
      return { text: `They looked for parcels, time ${prompts.length}.` };
    });
    onTestFinished(() => model.close());
    const quire = await openTestQuire({
      summarizerOpenaiUrl: model.baseUrl("openai"),
      summarizerOpenaiModel: "small",
      summarizerOpenaiKey: "key",
    });
    onTestFinished(() => quire.close());
    const { first, second } = await compactTwice(quire, async () => {
      const summarizers = { names: ["openai"] };
      const { compaction } = await quire.ledger.compact({
        session: "work",
        summarizers,
        targetTokens: 1_500,
      });
      expect(compaction!.summarizer).toBe("openai");
      return compaction!.summary;
    });
    expect(wordsOf(first)).toBe("They looked for parcels, time 1.");
    expect(first).toContain(paths[0]);
    expect(wordsOf(second)).toBe("They looked for parcels, time 2.");
    for (const path of paths) expect(second).toContain(path);
    expect(prompts[1]).toContain("They looked for parcels, time 1.");
    expect(prompts[1]).not.toContain(first.slice(first.indexOf("\nFiles")));
  });

  test("stands behind what the engine writes, whatever it takes of its room", async () => {
    const quire = await openTestQuire();
    onTestFinished(() => quire.close());
    const { first, second } = await compactTwice(quire, async () => {
      const summarizers = { names: ["engine"] };
      const { needed } = await quire.ledger.compact({ session: "work", summarizers, targetTokens: 1_500 });
      const { planToken, plan } = needed!;
      const summary = `They looked for parcels. ${plan!.mustKeep.join(" ")}`.trim();
      const { compaction } = await quire.ledger.submitCompaction({ session: "work", planToken, summary });
      expect(compaction!.summary.startsWith(summary)).toBe(true);
      expect(compaction!.summaryTokens).toBeLessThanOrEqual(plan!.maxSummaryTokens + 16);
      return compaction!.summary;
    });
    expect(first).toContain(paths[0]);
    for (const path of paths) expect(second).toContain(path);
  });
});
