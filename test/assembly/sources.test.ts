import { expect, test } from "vitest";
import { CandidateRule, InputKind } from "../../src/contract/gen/quire/v1/assembly.js";
import { systemTimers, type Timers } from "../../src/domain/clock.js";
import { SourcePosition, SourceState } from "../../src/domain/source.js";
import { plainRules, type SourceRules } from "../../src/sources/rules.js";
import type { OfferedSource, Source, SourceAnswer } from "../../src/sources/source.js";
import { gate } from "../support/gate.js";
import { assistant, user } from "../support/messages.js";
import { exactModel, putAgent } from "./agent.js";
import { openedEngine, servedEngine } from "./opened-engine.js";

function offered(source: Source, rules: Partial<SourceRules> = {}): OfferedSource {
  return { source, defaults: { ...plainRules, ...rules } };
}

function saying(
  name: string,
  content: string,
  rules: Partial<SourceRules> = {},
  entities: readonly string[] = [],
) {
  return offered({ name, fetch: async () => ({ blocks: [{ title: name, content, entities }] }) }, rules);
}

const event = { content: [{ content: { $case: "text" as const, value: { text: "Hello." } } }] };
const request = { session: "s", capsule: "atlas", model: exactModel, event };

async function agent(sources: readonly OfferedSource[], options: object = {}) {
  const opened = await openedEngine({}, { sources, ...options });
  await putAgent(opened.quire);
  await opened.quire.ledger.createSession({ label: "s" });
  return opened.quire;
}

async function build(quire: Awaited<ReturnType<typeof agent>>, more: object = {}) {
  const answer = await quire.assembly.buildContext({
    context: { ...request, ...more },
    includeCandidates: true,
  });
  return answer.context!;
}

function contextOf(
  message: { readonly contextParts: readonly { readonly content?: unknown }[] } | undefined,
): string {
  const part = message?.contextParts[0]?.content as { value: { text: string } } | undefined;
  return part?.value.text ?? "";
}

test("blocks stand in the current message after its labels, by order and then by name", async () => {
  const quire = await agent([
    saying("zeta", "[ZETA]\nlast"),
    saying("beta", "[BETA]\nb"),
    saying("alpha", "[ALPHA]\na", { order: 200 }),
  ]);
  const { currentMessage, sources, tokenBudget, candidates } = await build(quire);
  expect(contextOf(currentMessage)).toMatch(
    /^Current time: .*\nTimezone: UTC\n\[BETA\]\nb\n\[ZETA\]\nlast\n\[ALPHA\]\na\n\n$/,
  );
  expect(sources.map(({ name, state }) => [name, state])).toEqual([
    ["beta", SourceState.OK],
    ["zeta", SourceState.OK],
    ["alpha", SourceState.OK],
  ]);
  expect(tokenBudget!.used!.memory).toBeGreaterThan(0);
  expect(candidates.filter(({ rule }) => rule === CandidateRule.PRIORITY).map(({ name }) => name)).toEqual([
    "source beta: beta",
    "source zeta: zeta",
    "source alpha: alpha",
  ]);
});

test("a source in the system prompt is a section of it, and a change of it rides in the current message of a warm session", async () => {
  let said = "[RULES]\n• one";
  const rules = { position: SourcePosition.SYSTEM };
  const quire = await agent([
    offered(
      { name: "rules", fetch: () => ({ blocks: [{ title: "rules", content: said, entities: [] }] }) },
      rules,
    ),
  ]);
  // A short prompt is cheaper written anew.
  const baseInstructions = "You book flights, and explain each step before you take it. ".repeat(200);
  const first = await build(quire, { baseInstructions });
  expect(first.systemPrompt).toContain("\n\n[RULES]\n• one");
  expect(first.sections.map(({ name }) => name)).toContain("source rules");
  expect(contextOf(first.currentMessage)).not.toContain("[RULES]");
  const { turn } = await quire.ledger.recordTurn({
    session: "s",
    assemblyId: first.assemblyId,
    messages: [user("Hello."), assistant("Yes?")],
  });
  said = "[RULES]\n• two";
  const second = await build(quire, { baseInstructions });
  expect(turn!.id).toBe(second.parentTurnId);
  expect(second.systemPrompt).toBe(first.systemPrompt);
  expect(contextOf(second.currentMessage)).toContain("[System prompt update: source rules]");
});

test("a source that hangs, throws or is over its bounds costs only its block, and each is named", async () => {
  const timeIsUp = gate();
  // Only the deadline of the one that hangs runs out.
  const timers: Timers = {
    after(ms, callback) {
      if (ms !== 50) return systemTimers.after(ms, callback);
      timeIsUp.passed.then(callback);
      return { cancel: () => undefined };
    },
  };
  const quire = await agent(
    [
      offered({ name: "hangs", fetch: () => new Promise<SourceAnswer>(() => undefined) }, { deadlineMs: 50 }),
      offered({
        name: "throws",
        fetch: () => {
          throw new Error("secret detail");
        },
      }),
      saying("long", "line of words\n".repeat(1_000), { maxChars: 200 }),
      saying("fine", "[FINE]"),
      saying("none", "", { enabled: false }),
    ],
    { timers },
  );
  const building = build(quire);
  timeIsUp.open();
  const { currentMessage, sources, candidates } = await building;
  const text = contextOf(currentMessage);
  expect(text).toContain("[FINE]");
  expect(text).toContain("line of words\n[...truncated]");
  expect(text.length).toBeLessThan(400);
  expect(sources.map(({ name, state, detail }) => [name, state, detail])).toEqual([
    ["fine", SourceState.OK, ""],
    ["hangs", SourceState.TIMED_OUT, "no answer within 50 ms"],
    ["long", SourceState.OK, ""],
    ["throws", SourceState.FAILED, "it failed"],
  ]);
  const failures = candidates.filter(({ rule }) => rule === CandidateRule.SOURCE_FAILED);
  expect(failures.map(({ name, kept }) => [name, kept])).toEqual([
    ["source hangs", false],
    ["source throws", false],
  ]);
});

test("what another source covers is left out, and all of it where that covers all", async () => {
  const quire = await agent([
    saying("prices", "BTC: 1", {}, ["BTC"]),
    saying("world", "bitcoin is a coin", { suppressedBy: "prices" }, ["btc "]),
    saying("more", "gold is a metal", { suppressedBy: "prices" }, ["gold"]),
  ]);
  const { currentMessage, sources, candidates } = await build(quire);
  expect(contextOf(currentMessage)).not.toContain("bitcoin");
  expect(contextOf(currentMessage)).toContain("gold is a metal");
  expect(sources.find(({ name }) => name === "world")).toMatchObject({
    state: SourceState.SUPPRESSED,
    detail: "prices covers it",
  });
  expect(candidates.filter(({ rule }) => rule === CandidateRule.SUPPRESSED).map(({ name }) => name)).toEqual([
    "source world: world",
  ]);
});

test("where there is too little room the lowest priority gives way first; the history's cut does not", async () => {
  const words = "several words that cost tokens ".repeat(20);
  const sources = [
    saying("low", `LOW ${words}`, { priority: 10 }),
    saying("high", `HIGH ${words}`, { priority: 90 }),
    saying("middle", `MIDDLE ${words}`, { priority: 50 }),
  ];
  const quire = await agent(sources);
  const settings = { modelLimits: [{ model: exactModel, memoryTokens: 250 }] };
  const { currentMessage, candidates, tokenBudget } = await build(quire, { settings });
  const text = contextOf(currentMessage);
  expect([text.includes("HIGH"), text.includes("MIDDLE"), text.includes("LOW")]).toEqual([true, true, false]);
  expect(tokenBudget!.used!.memory).toBeLessThanOrEqual(250);
  const dropped = candidates.filter(({ rule, kept }) => rule === CandidateRule.PRIORITY && !kept);
  expect(dropped.map(({ name }) => name)).toEqual(["source low: low"]);
});

test("rules of capsule and request choose sources by role, and change their bounds", async () => {
  const quire = await agent([
    saying("one", "[ONE]"),
    saying("two", "[TWO]", { roles: ["AGENT_ROLE_MANAGER"] }),
  ]);
  expect(contextOf((await build(quire)).currentMessage)).not.toContain("[TWO]");
  const manager = await build(quire, { role: "AGENT_ROLE_MANAGER" });
  expect(contextOf(manager.currentMessage)).toContain("[TWO]");
  const without = await build(quire, { settings: { sources: [{ name: "one", enabled: false }] } });
  expect(contextOf(without.currentMessage)).not.toContain("[ONE]");
  expect(without.sources).toEqual([]);
});

test("a source that fails again and again is left alone, asked once after its rest, and taken back when it works", async () => {
  let nowMs = Date.UTC(2026, 0, 15);
  let isBroken = true;
  let calls = 0;
  const fetch = async () => {
    calls++;
    if (isBroken) throw new Error("down");
    return { blocks: [{ title: "it", content: "[IT]", entities: [] }] };
  };
  const quire = await agent([offered({ name: "it", fetch })], { clock: { now: () => nowMs } });
  const states: string[] = [];
  const once = async () => states.push((await build(quire)).sources[0]!.state);
  for (let index = 0; index < 5; index++) await once();
  expect(calls).toBe(3);
  nowMs += 10_000;
  await once();
  isBroken = false;
  await once();
  nowMs += 10_000;
  await once();
  await once();
  const { FAILED, SKIPPED, OK } = SourceState;
  expect(states).toEqual([FAILED, FAILED, FAILED, SKIPPED, SKIPPED, FAILED, SKIPPED, OK, OK]);
});

test("an answer is used again for its time, for the same question", async () => {
  let nowMs = Date.UTC(2026, 0, 15);
  let calls = 0;
  const source: Source = {
    name: "counted",
    cacheKey: ({ eventText }) => eventText,
    fetch: async () => ({ blocks: [{ title: "n", content: `call ${++calls}`, entities: [] }] }),
  };
  const quire = await agent([offered(source, { cacheSeconds: 60 })], { clock: { now: () => nowMs } });
  await build(quire);
  const again = await build(quire);
  expect(again.sources[0]!.cached).toBe(true);
  expect(contextOf(again.currentMessage)).toContain("call 1");
  nowMs += 60_000;
  expect(contextOf((await build(quire)).currentMessage)).toContain("call 2");
});

test("a source that must know history is told which turns it shows", async () => {
  const seen: unknown[] = [];
  const source: Source = {
    name: "after",
    isAfterHistory: true,
    fetch: ({ history }) => {
      seen.push(history?.turns.map(({ depth }) => depth));
      return { blocks: [] };
    },
  };
  const quire = await agent([offered(source)]);
  for (const text of ["a", "b"])
    await quire.ledger.recordTurn({ session: "s", messages: [user(text), assistant(text)] });
  const { sources } = await build(quire);
  expect(seen).toEqual([[1, 2]]);
  expect(sources[0]!.state).toBe(SourceState.EMPTY);
});

test("a context with sources is replayed byte for byte, whatever they say later, and its receipt names their answers", async () => {
  let said = "first";
  const quire = await agent([
    offered({ name: "moody", fetch: () => ({ blocks: [{ title: "it", content: said, entities: [] }] }) }),
  ]);
  const built = await build(quire);
  said = "second";
  const { context } = await quire.assembly.replayContext({ assemblyId: built.assemblyId });
  expect({ ...context, candidates: built.candidates }).toEqual(built);
  const { receipt } = await quire.assembly.getReceipt({ assemblyId: built.assemblyId });
  expect(receipt!.inputs.filter(({ kind }) => kind === InputKind.SOURCE)).toHaveLength(1);
  expect(receipt!.sources).toEqual(built.sources);
});

test("the stream has an event for each source, after history and before the current message", async () => {
  const served = await servedEngine({}, { sources: [saying("one", "[ONE]"), saying("two", "[TWO]")] });
  await putAgent(served.quire);
  await served.quire.ledger.createSession({ label: "s" });
  const kinds: string[] = [];
  for await (const { event: sent } of served.assemble(request)) kinds.push(sent!.$case);
  expect(kinds).toEqual([
    "resolved",
    "tools",
    "system",
    "history",
    "source",
    "source",
    "currentMessage",
    "completed",
  ]);
});
