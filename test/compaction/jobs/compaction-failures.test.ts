import { describe, expect, it, onTestFinished } from "vitest";
import type { CompactionTurn } from "../../../src/contract/gen/quire/v1/compaction.js";
import { CompressionStrategy } from "../../../src/contract/gen/quire/v1/context_settings.js";
import { checkBudget, checkPairs } from "../../assembly/check-context.js";
import {
  assembled,
  compactionsOf,
  longSession,
  plainTurn,
  textOf,
  tightContext,
  wholeThread,
} from "../../assembly/long-session.js";
import { type ServedEngine, servedEngine } from "../../assembly/opened-engine.js";
import { gate } from "../../support/gate.js";
import { handTimers } from "../../support/hand-timers.js";
import { assistant, user } from "../../support/messages.js";
import {
  type ModelReply,
  type ModelScript,
  type Protocol,
  startModelServer,
} from "../../support/model-server.js";

/** What an assembly has for all of it, summaries and fallbacks included. No test waits for it. */
const deadlineMs = 60_000;
const roomTokens = 1_000;
const openTicket = "TKT-48213";
const summary = `They looked for a parcel that left the house by the river. Still open: the refund for ${openTicket}.`;

/** Turns with a ticket that is still to be dealt with. */
function openTurn(number: number) {
  if (number !== 2) return plainTurn(number);
  return [user(`Please refund ${openTicket}.`), assistant(`TODO: the refund for ${openTicket} is pending.`)];
}

/** The index of what was said looks more often than any summary is given up. */
const summarizerMs = 500;

/** A server that asks a model for summaries, and a session that no longer fits. Time passes only while the model hangs. */
async function overfull(script: ModelScript) {
  const timers = handTimers();
  const model = await startModelServer(async (request, index) => {
    const reply = await script(request, index);
    if ("hang" in reply) setImmediate(() => timers.runOutNext(summarizerMs));
    return reply;
  });
  onTestFinished(() => model.close());
  const flags = {
    summarizerOpenaiUrl: model.baseUrl("openai"),
    summarizerOpenaiModel: "gpt-small",
    summarizerOpenaiKey: "openai-key",
    summarizerAnthropicUrl: model.baseUrl("anthropic"),
    summarizerAnthropicModel: "claude-small",
    summarizerAnthropicKey: "anthropic-key",
    summarizerRetries: 0,
  };
  const served = await servedEngine(flags, { timers });
  await longSession(served.quire, "long", 16, openTurn);
  return { ...served, model, timers };
}

const contextFor = (...summarizers: readonly string[]) =>
  tightContext("long", roomTokens, { summarizers: { names: [...summarizers] } });

/** Assembles within the deadline. The context keeps every rule, and the thread stays as it was. */
async function assembleTight({ assemble, quire }: ServedEngine, summarizers: readonly string[]) {
  const before = await wholeThread(quire, "long");
  const context = await assembled(assemble(contextFor(...summarizers), deadlineMs));
  checkBudget(context);
  checkPairs(context.history);
  expect(context.completed.budget!.used!.history).toBeLessThanOrEqual(roomTokens);
  expect(await wholeThread(quire, "long")).toEqual(before);
  return context;
}

const protocols: readonly Protocol[] = ["openai", "anthropic"];

describe.each(protocols)("a summarizer over the protocol of %s", (protocol) => {
  it("gives the summary that history begins with, and the compaction says who made it and what it cost", async () => {
    const desk = await overfull(() => ({ text: summary, usage: { input: 812, output: 33 } }));
    const context = await assembleTight(desk, [protocol]);
    expect(context.notices.map((notice) => notice.$case)).toEqual(["started", "finished"]);
    expect(context.finished).toMatchObject({
      summarizer: protocol,
      provider: protocol,
      model: protocol === "openai" ? "gpt-small" : "claude-small",
      inputTokens: 812,
      outputTokens: 33,
      compressionStrategy: "COMPRESSION_STRATEGY_SUMMARY",
      trigger: "COMPACTION_TRIGGER_CONTEXT_LIMIT",
      summary,
      failures: [],
    });
    expect(textOf(context.history[0]!)).toBe(`[Previous conversation summary]\n${summary}`);
    expect(context.layer.compactionId).toBe(context.finished!.id);
    expect(await compactionsOf(desk.quire, "long")).toEqual([context.finished]);
    const [request] = desk.model.requests;
    expect(Object.values(request!.keys)).toContain(`${protocol}-key`);
    expect(request!.user).toContain("Question 1: ");
    expect(request!.user).not.toContain("Question 16: ");
    expect(request!.user).toContain(openTicket);
  });

  const cases: readonly (readonly [what: string, script: ModelScript, reason: RegExp])[] = [
    ["hangs", () => ({ hang: "before headers" }), /^\w+ was not done within \d+ ms\.$/],
    ["hangs in the middle of its answer", () => ({ hang: "inside the body" }), /was not done within \d+ ms/],
    ["errors", () => ({ status: 500 }), /answered with HTTP status 500/],
    ["goes away", () => ({ close: true }), /could not be reached/],
    ["returns nothing", () => ({ text: "  " }), /answered with nothing/],
    ["returns more than it got", ({ user }) => ({ text: user }), /is (over its limit|not shorter)/],
    ["drops an open identifier", () => ({ text: "They looked for it." }), /drops the identifier "TKT-48213"/],
  ];

  it.each(cases)("alone that %s: history is cut, nothing is written, and the reason is reported", async (...[
    ,
    script,
    reason,
  ]) => {
    const desk = await overfull(script);
    const context = await assembleTight(desk, [protocol]);
    expect(context.notices.map((notice) => notice.$case)).toEqual(["started", "failed"]);
    expect(context.failed!.failures).toEqual([
      { summarizer: protocol, reason: expect.stringMatching(reason) },
    ]);
    expect(context.layer).toMatchObject({ compactionId: "", summarizedTurns: 0 });
    expect(context.layer.droppedTurns).toBeGreaterThan(0);
    expect(await compactionsOf(desk.quire, "long")).toEqual([]);
    expect(await desk.engine.database.sqlReader.query("SELECT id FROM compactions", [])).toEqual([]);
  });

  it.each(cases)("that %s is followed by the next of the list, and the compaction says why", async (...[
    ,
    script,
    reason,
  ]) => {
    const desk = await overfull(script);
    const context = await assembleTight(desk, [protocol, "extractive"]);
    expect(context.notices.map((notice) => notice.$case)).toEqual(["started", "finished"]);
    expect(context.finished).toMatchObject({
      summarizer: "extractive",
      provider: "quire",
      failures: [{ summarizer: protocol, reason: expect.stringMatching(reason) }],
    });
    expect(context.finished!.summary).toContain(openTicket);
    expect(context.layer.compactionId).toBe(context.finished!.id);
    expect(await compactionsOf(desk.quire, "long")).toEqual([context.finished]);
  });
});

describe("summarizers in a list", () => {
  it("are asked in order", async () => {
    const replies: Record<Protocol, ModelReply> = { openai: { text: "" }, anthropic: { text: summary } };
    const desk = await overfull(({ protocol }) => replies[protocol]);
    const context = await assembleTight(desk, ["openai", "anthropic", "extractive"]);
    expect(context.finished).toMatchObject({ summarizer: "anthropic" });
    expect(context.finished!.failures.map(({ summarizer }) => summarizer)).toEqual(["openai"]);
    expect(desk.model.requests.map(({ protocol }) => protocol)).toEqual(["openai", "anthropic"]);
  });

  it("that the server was not given are passed over and named", async () => {
    const served = await servedEngine({});
    await longSession(served.quire, "long", 16, openTurn);
    const context = await assembleTight(served, ["openai", "extractive"]);
    expect(context.finished).toMatchObject({ summarizer: "extractive" });
    expect(context.finished!.failures.map(({ summarizer }) => summarizer)).toEqual(["openai"]);
  });

  it("that all fail are all named, and the next assembly asks them again", async () => {
    let isBroken = true;
    const desk = await overfull(() => ({ text: isBroken ? "" : summary }));
    const first = await assembleTight(desk, ["openai", "anthropic"]);
    expect(first.failed!.failures.map(({ summarizer }) => summarizer)).toEqual(["openai", "anthropic"]);
    isBroken = false;
    const second = await assembleTight(desk, ["openai", "anthropic"]);
    expect(second.finished).toMatchObject({ summarizer: "openai", failures: [] });
  });
});

describe("a compaction of a thread that is far too long", () => {
  it("says what the whole thread cost, and which turn is the last in the summary", async () => {
    const desk = await overfull(() => ({ text: summary }));
    const { turns } = await desk.quire.ledger.listTurns({ session: "long" });
    const whole = turns.reduce((sum, turn) => sum + turn.o200kTokens + turn.messageCount * 4, 0);
    const { finished, layer } = await assembleTight(desk, ["openai"]);
    expect(finished!.tokensBefore).toBe(whole);
    expect(finished!.tokensAfter).toBe(layer.tokens);
    expect(finished!.lastSummarizedTurnId).toBe(turns.at(-finished!.summarizedTurns)!.id);
    expect(finished!.firstKeptTurnId).toBe(turns.at(-finished!.summarizedTurns - 1)!.id);
  });
});

describe("identifiers of open work", () => {
  const tickets = Array.from({ length: 30 }, (_, index) => `TKT-${70_000 + index}`);

  it.each([
    CompressionStrategy.SUMMARY,
    CompressionStrategy.IMPORTANCE,
    CompressionStrategy.TIME_DECAY,
    CompressionStrategy.TRUNCATE,
  ])("are asked for only as far as a summary has room for them: %s", async (compressionStrategy) => {
    const { quire } = await servedEngine();
    await longSession(quire, "long", 16, (number) =>
      number === 1 ? [user("Refunds?"), assistant(`TODO: ${tickets.join(", ")}`)] : plainTurn(number),
    );
    const context = tightContext("long", roomTokens, { compressionStrategy, summaryTokens: 32 });
    const { finished } = await assembled(quire.assembly.assemble({ context }));
    expect(finished!.summary).toContain(tickets[0]);
    expect(finished!.summaryTokens).toBeLessThan(48);
  });
});

describe("Compact", () => {
  it("hands its instructions on to the model, and keeps them", async () => {
    const desk = await overfull(() => ({ text: summary }));
    const instructions = "Keep every street name.";
    const { compaction } = await desk.quire.ledger.compact({
      session: "long",
      instructions,
      summarizers: { names: ["anthropic"] },
    });
    expect(desk.model.requests[0]!.user).toContain(instructions);
    expect(compaction).toMatchObject({ instructions, trigger: "COMPACTION_TRIGGER_MANUAL", summary });
  });

  it("fails with the reason of each summarizer, and leaves the thread as it was", async () => {
    const desk = await overfull(() => ({ text: "They looked for it." }));
    const call = desk.quire.ledger.compact({
      session: "long",
      summarizers: { names: ["openai", "anthropic"] },
    });
    const drops = expect.stringContaining(`drops the identifier "${openTicket}"`);
    await expect(call).rejects.toMatchObject({
      reason: "COMPACTION_FAILED",
      metadata: { openai: drops, anthropic: drops },
    });
    expect(await compactionsOf(desk.quire, "long")).toEqual([]);
  });
});

describe("a compaction that outlasts its caller", () => {
  /** A model that answers when it is let go, and says when it was asked. */
  function heldModel() {
    const [asked, released] = [gate(), gate()];
    const script: ModelScript = async () => {
      asked.open();
      await released.passed;
      return { text: summary };
    };
    return { script, asked: asked.passed, release: released.open };
  }

  /** The next assembly begins with what was made, and asks nobody. */
  async function requireUsed(desk: Awaited<ReturnType<typeof overfull>>) {
    const next = await assembleTight(desk, ["openai"]);
    const [made] = (await compactionsOf(desk.quire, "long")) as [CompactionTurn];
    expect(made).toMatchObject({ summarizer: "openai", summary });
    expect(next.layer.compactionId).toBe(made.id);
    expect(next.notices).toEqual([]);
    expect(desk.model.requests).toHaveLength(1);
  }

  it("is used by the next assembly when the caller went away", async () => {
    const { script, asked, release } = heldModel();
    const desk = await overfull(script);
    const leaving = new AbortController();
    const gone = assembled(desk.assemble(contextFor("openai"), undefined, leaving.signal));
    const refused = expect(gone).rejects.toThrow(/CANCELLED/);
    await asked;
    leaving.abort();
    await refused;
    release();
    await desk.engine.assembly.compactor.idle();
    await requireUsed(desk);
  });

  it("is not waited for beyond the deadline of one who joined it, whose history is cut", async () => {
    const { script, asked, release } = heldModel();
    const desk = await overfull(script);
    const patient = assembled(desk.assemble(contextFor("openai")));
    await asked;
    const joining = assembled(desk.assemble(contextFor("openai"), deadlineMs));
    // The job has one, and each who waits for it. The one who has a deadline waits least.
    await desk.timers.set(3, summarizerMs);
    desk.timers.runOutNext(summarizerMs);
    const hasty = await joining;
    expect(hasty.failed!.reason).toContain("not done in time");
    expect(hasty.layer.compactionId).toBe("");
    expect(hasty.layer.droppedTurns).toBeGreaterThan(0);
    release();
    expect((await patient).finished).toMatchObject({ summary });
    await requireUsed(desk);
  });
});
