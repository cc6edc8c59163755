import { afterEach, describe, expect, test } from "vitest";
import type { SummaryTask } from "../../../src/compaction/plan/summary-task.js";
import { anthropicSummarizer } from "../../../src/compaction/summarizers/anthropic.js";
import { summarizeWithChain } from "../../../src/compaction/summarizers/chain.js";
import { openaiSummarizer } from "../../../src/compaction/summarizers/openai.js";
import type { Summarizer } from "../../../src/compaction/summarizers/summarizer.js";
import type { SummarizerFailure } from "../../../src/domain/compaction.js";
import { chat, count } from "../../support/folded-turns.js";
import { handTimers } from "../../support/hand-timers.js";
import { type ModelReply, type ModelServer, startModelServer } from "../../support/model-server.js";

const task: SummaryTask = {
  previousSummary: "",
  turns: chat(3),
  instructions: "",
  maxTokens: 100,
  mustKeep: ["ORD-7"],
};
const never = new AbortController().signal;
const options = { count, replacedTokens: 90, deadlineMs: 60_000, signal: never };

function fake(name: string, summarize: Summarizer["summarize"]): Summarizer {
  return { name, provider: "", model: "", summarize };
}
const says = (name: string, text: string) =>
  fake(name, async () => ({ text, cost: { inputTokens: 1, outputTokens: 1 } }));
const good = says("good", "Order ORD-7 waits.");

describe("chain: which summary is taken", () => {
  test("the first that can be used; who comes after is not asked", async () => {
    const unused = fake("unused", () => Promise.reject(new Error("was asked")));
    const result = await summarizeWithChain([good, unused], task, options);
    expect(result).toEqual({
      summarizer: good,
      summary: { text: "Order ORD-7 waits.", cost: { inputTokens: 1, outputTokens: 1 } },
      tokens: count("Order ORD-7 waits."),
      failures: [],
    });
  });

  const failing: readonly (readonly [Summarizer, string])[] = [
    [
      fake("broken", () => Promise.reject(new Error("answered with HTTP status 500."))),
      "broken answered with HTTP status 500.",
    ],
    [
      fake("sudden", () => {
        throw new Error("is not\nset up");
      }),
      "sudden is not set up.",
    ],
    [fake("odd", () => Promise.reject("a string")), "odd failed."],
    [fake("void", (async () => undefined) as unknown as Summarizer["summarize"]), "void returned nothing."],
    [says("mute", " "), "The summary of mute is empty."],
    [
      says("chatty", "ORD-7 ".repeat(30)),
      "The summary of chatty is not shorter than what it replaces (91 tokens for 90).",
    ],
    [
      says("vast", "x".repeat(10_000)),
      "The summary of vast is over its limit (10000 characters for 100 tokens).",
    ],
    [says("careless", "An order waits."), 'The summary of careless drops the identifier "ORD-7".'],
    [fake("stuck", () => new Promise(() => {})), "stuck was not done within 20 ms."],
    [
      fake(
        "obedient",
        (_, signal) =>
          new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
      ),
      "obedient was not done within 20 ms.",
    ],
  ];

  test.each(failing)("$name gives way to the next one, with the reason", async (summarizer, reason) => {
    const deadlineMs = ({ name }: Summarizer) => (/stuck|obedient/.test(name) ? 20 : 60_000);
    const told: SummarizerFailure[] = [];
    const onFailure = (failure: SummarizerFailure) => told.push(failure);
    const result = await summarizeWithChain([summarizer, good], task, { ...options, deadlineMs, onFailure });
    expect(result.summarizer).toBe(good);
    expect(result.failures).toEqual([{ summarizer: summarizer.name, reason }]);
    expect(told).toEqual(result.failures);
  });

  test("when all fail there is no summary, and every reason", async () => {
    const all = failing.map(([summarizer]) => summarizer);
    const result = await summarizeWithChain(all, task, { ...options, deadlineMs: 20 });
    expect(result.summarizer).toBeUndefined();
    expect(result.failures.map(({ summarizer }) => summarizer)).toEqual(all.map(({ name }) => name));
  });

  test("an empty list is no summary and no failure", async () => {
    expect(await summarizeWithChain([], task, options)).toEqual({ failures: [] });
  });

  test("who has no time left is not asked", async () => {
    let asked = 0;
    const late = fake("late", async () => {
      asked++;
      return { text: "x", cost: { inputTokens: 0, outputTokens: 0 } };
    });
    const { failures } = await summarizeWithChain([late], task, { ...options, deadlineMs: 0 });
    expect(failures).toEqual([{ summarizer: "late", reason: "There was no time left for late." }]);
    expect(asked).toBe(0);
  });

  test("a summarizer without a limit is not cut short", async () => {
    const result = await summarizeWithChain([good], task, {
      ...options,
      deadlineMs: Number.POSITIVE_INFINITY,
    });
    expect(result.summarizer).toBe(good);
  });

  test("a reason is one line, and not a long one", async () => {
    const wordy = fake("wordy", () => Promise.reject(new Error("a\n".repeat(5_000))));
    const { failures } = await summarizeWithChain([wordy], task, options);
    expect(failures[0]?.reason).not.toContain("\n");
    expect(failures[0]?.reason.length).toBeLessThan(320);
  });
});

describe("chain: an abort from outside", () => {
  test("is thrown, also when the summarizer ignores it, and asks nobody else", async () => {
    const abort = new AbortController();
    let heard: unknown;
    const stuck = fake("stuck", (_, signal) => {
      signal.addEventListener("abort", () => {
        heard = signal.reason;
      });
      setImmediate(() => abort.abort(new Error("caller left")));
      return new Promise(() => {});
    });
    const work = summarizeWithChain([stuck, good], task, { ...options, signal: abort.signal });
    await expect(work).rejects.toThrow("caller left");
    expect((heard as Error).message).toBe("caller left");
  });

  test("before the start asks nobody", async () => {
    const signal = AbortSignal.abort(new Error("over"));
    await expect(summarizeWithChain([good], task, { ...options, signal })).rejects.toThrow("over");
  });
});

describe("chain: over real endpoints", () => {
  const servers: ModelServer[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });

  const replies: readonly (readonly [string, ModelReply])[] = [
    ["hangs", { hang: "before headers" }],
    ["hangs in the middle", { hang: "inside the body" }],
    ["errors", { status: 500 }],
    ["closes the connection", { close: true }],
    ["returns nothing", { text: "" }],
    ["returns more than it got", { text: `ORD-7 ${"and so on ".repeat(200)}` }],
    ["drops an open identifier", { text: "An order waits." }],
    ["sends what is not JSON", { body: "{" }],
  ];

  test.each(
    replies,
  )("a model that %s: both protocols fail with a reason, the next one serves", async (_, bad) => {
    const timers = handTimers();
    const server = await startModelServer(() => {
      if ("hang" in bad) setImmediate(() => timers.runOutNext());
      return bad;
    });
    servers.push(server);
    const endpoint = (protocol: "openai" | "anthropic") => ({
      baseUrl: server.baseUrl(protocol),
      model: "m",
      apiKey: "k",
      timeoutMs: 60_000,
      retries: 0,
      windowTokens: 32_000,
      maxInputTokens: 32_000,
      count,
    });
    const chain = [openaiSummarizer(endpoint("openai")), anthropicSummarizer(endpoint("anthropic")), good];
    const result = await summarizeWithChain(chain, task, { ...options, timers });
    expect(result.summarizer).toBe(good);
    expect(result.failures.map(({ summarizer }) => summarizer)).toEqual(["openai", "anthropic"]);
    for (const { reason } of result.failures) {
      expect(reason).toMatch(/^(The summary of )?(openai|anthropic) .+\.$/);
      expect(reason).not.toContain("parcel");
    }
    expect(server.requests.map(({ protocol }) => protocol)).toEqual(["openai", "anthropic"]);
  });
});
