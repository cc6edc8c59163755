import { describe, expect, test } from "vitest";
import { ContextLayer } from "../../src/contract/gen/quire/v1/assembly_service.js";
import { AgentRole } from "../../src/contract/gen/quire/v1/origin.js";
import type { ContextChange } from "../../src/contract/gen/quire/v1/prompt_cache.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import type { PartialContext } from "./agent.js";
import { change } from "./change.js";
import { rules, type SentContext, WarmDesk } from "./warm-desk.js";

const updateOf = (edition: string) => `+- Edition ${edition}.`;
const search = { name: "search", description: "Looks for flights." };
const book = { name: "book", description: "Books a flight.", requiredPermissions: ["booking.write"] };

describe("what must not wait applies at once, takes what rode along with it, and is named as the cause", () => {
  const changes: readonly {
    readonly what: string;
    readonly before?: PartialContext;
    readonly after?: PartialContext;
    readonly prime?: readonly [string | undefined, string | undefined];
    readonly cause: ContextChange;
    readonly difference?: ContextChange;
  }[] = [
    { what: "a new prime.md", prime: [undefined, "Obey the law."], cause: change("SECTION", "override") },
    {
      what: "another prime.md",
      prime: ["Obey the law.", "Obey the captain."],
      cause: change("SECTION", "override"),
    },
    {
      what: "a prime.md that is gone",
      prime: ["Obey the law.", undefined],
      cause: change("SECTION", "override"),
    },
    {
      what: "a mode that is on",
      after: { modeBlocks: [{ name: "sovereign", content: "You decide." }] },
      cause: change("SECTION", "mode sovereign"),
    },
    {
      what: "a mode that is off",
      before: { modeBlocks: [{ name: "sovereign", content: "You decide." }] },
      cause: change("SECTION", "mode sovereign"),
    },
    {
      what: "a permission that was taken away",
      before: { permissionsGranted: ["a", "b"] },
      after: { permissionsGranted: ["a"] },
      cause: change("SECTION", "permissions"),
    },
    {
      what: "the last permission",
      before: { permissionsGranted: ["a"] },
      cause: change("SECTION", "permissions"),
    },
    {
      what: "a worker's task",
      before: { role: AgentRole.WORKER, task: "Find a room." },
      after: { role: AgentRole.WORKER, task: "Find a boat." },
      cause: change("SECTION", "role"),
    },
    {
      what: "the machine",
      before: { runtime: { host: "desk-1", os: "linux", arch: "x64" } },
      after: { runtime: { host: "desk-2", os: "linux", arch: "x64" } },
      cause: change("SECTION", "runtime"),
    },
    {
      what: "a rule for tools",
      after: { toolRules: [{ tool: "search", rule: { $case: "maxCalls", value: 3 } }] },
      cause: change("SECTION", "tool_rules"),
    },
    {
      what: "a tool that was revoked",
      before: { tools: [search, book], permissionsGranted: ["booking.write"] },
      after: { tools: [search, book] },
      cause: change("TOOLS"),
      difference: change("TOOLS"),
    },
    {
      what: "a tool that is gone",
      before: { tools: [search, { name: "rooms", description: "Looks for rooms." }] },
      cause: change("TOOLS"),
      difference: change("TOOLS"),
    },
  ];

  test.each(changes)("$what", async ({ before = {}, after = {}, prime, cause, difference }) => {
    const desk = await WarmDesk.open();
    desk.prime(prime?.[0]);
    await desk.turn(before);
    await desk.write({ "AGENTS.md": rules("two") });
    const second = await desk.turn(before);
    expect(second.prefix).toMatchObject({ pinned: true, cause: undefined });
    desk.prime(prime?.[1]);
    const third = await desk.turn(after);
    expect(third.system.text).toContain("Edition two.");
    expect(third.prefix).toMatchObject({ pinned: false, cause, updates: [{ section: "" }] });
    const { receipt } = await desk.quire.assembly.getReceipt({ assemblyId: third.completed.assemblyId });
    expect(receipt!.prefix).toEqual(third.prefix);
    // What comes first in the prompt is the first difference: the rules, or what stands before them.
    const isBefore = cause.detail === "override" || cause.detail === "role";
    expect(third.prefix.difference).toEqual(
      difference ?? (isBefore ? cause : change("SECTION", "workspace_rules")),
    );
    const fourth = await desk.assemble(after);
    expect(fourth.prefix).toMatchObject({ pinned: false, cause: undefined, difference: undefined });
    expect(fourth.system.text).toBe(third.system.text);
  });

  test.each(changes)("$what, alone, is the difference that the receipt names", async ({
    before = {},
    after = {},
    prime,
    cause,
    difference,
  }) => {
    const desk = await WarmDesk.open();
    desk.prime(prime?.[0]);
    const first = await desk.turn(before);
    desk.prime(prime?.[1]);
    const second = await desk.assemble(after);
    expect(second.prefix).toMatchObject({ pinned: false, difference: difference ?? cause });
    const compared = await desk.compare(first, second);
    expect(compared.firstDifference).toBe(second.prefix.firstDifference);
    expect(compared.extends).toBe(false);
    expect(second.completed.cachePlan!.missCause).toEqual(second.prefix.difference);
  });
});

describe("the pin", () => {
  /** A desk with one turn, and rules that were edited after it. */
  async function edited() {
    const desk = await WarmDesk.open();
    const first = await desk.turn();
    await desk.write({ "AGENTS.md": rules("two") });
    return { desk, first };
  }

  const tellsAgain = (sent: SentContext, first: SentContext) => {
    expect(sent.system.text).toBe(first.system.text);
    expect(sent.context).toContain(updateOf("two"));
    expect(sent.prefix).toMatchObject({ pinned: true, cause: undefined, difference: undefined });
    expect(sent.prefix.previousAssemblyId).toBe(first.completed.assemblyId);
  };

  test("is not that of a turn which failed: what it carried is told again", async () => {
    const { desk, first } = await edited();
    await desk.turn({}, { status: TurnStatus.FAILED });
    tellsAgain(await desk.assemble(), first);
  });

  test("is not that of a turn which failed while it was open", async () => {
    const { desk, first } = await edited();
    const second = await desk.assemble();
    const { turn } = await desk.quire.ledger.beginTurn({
      session: "desk",
      parentTurnId: await desk.head(),
      messages: [user("And now?")],
      assemblyId: second.resolved.assemblyId,
    });
    tellsAgain(await desk.assemble(), first);
    await desk.quire.ledger.completeTurn({ turnId: turn!.id, status: TurnStatus.FAILED });
    tellsAgain(await desk.assemble(), first);
  });

  test("is not that of a turn which the head was moved away from", async () => {
    const { desk, first } = await edited();
    await desk.turn();
    await desk.turn();
    await desk.moveHead(first.turnId);
    tellsAgain(await desk.assemble(), first);
  });

  test("tells again what the turn was recorded without", async () => {
    const { desk, first } = await edited();
    await desk.turn({}, { messages: [{ ...user("And now?"), contextParts: user("My own.").parts }] });
    const third = await desk.assemble();
    expect(third.system.text).toBe(first.system.text);
    expect(third.context).toContain(updateOf("two"));
    expect(third.prefix).toMatchObject({ toldTurnId: "", toldTokens: third.prefix.updates[0]!.tokens });
  });

  test("does not tell again what the caller recorded with the context that it was given", async () => {
    const { desk } = await edited();
    const second = await desk.assemble();
    await desk.record(second, { messages: [second.current!, assistant("Soon.")] });
    expect((await desk.assemble()).context).not.toContain("Update");
  });

  test("is one for each model", async () => {
    const { desk } = await edited();
    const other = await desk.turn({ model: "gpt-6-sol" });
    expect(other.system.text).toContain("Edition two.");
    expect(other.prefix).toMatchObject({ pinned: false, cause: undefined, previousAssemblyId: "" });
    expect(other.completed.cachePlan).toMatchObject({ readTokens: 0, missCause: change("FIRST_CONTEXT") });
    await desk.write({ "AGENTS.md": rules("three") });
    expect((await desk.assemble()).context).toContain("-- Edition one.");
    expect((await desk.assemble({ model: "gpt-6-sol" })).context).toContain("-- Edition two.");
  });

  test("is one for each role", async () => {
    const { desk } = await edited();
    const worker = { role: AgentRole.WORKER, task: "Find a room." };
    expect((await desk.turn(worker)).system.text).toContain("Edition two.");
    expect((await desk.assemble()).context).toContain(updateOf("two"));
  });

  test("is not there without turns that name their assembly", async () => {
    const desk = await WarmDesk.open();
    await desk.turn({}, { isUnnamed: true });
    await desk.write({ "AGENTS.md": rules("two") });
    const second = await desk.turn({}, { isUnnamed: true });
    expect(second.system.text).toContain("Edition two.");
    expect(second.prefix).toMatchObject({ pinned: false, cause: undefined, previousAssemblyId: "" });
  });

  test("stays where later turns name no assembly", async () => {
    const { desk, first } = await edited();
    await desk.turn({}, { isUnnamed: true });
    tellsAgain(await desk.assemble(), first);
  });

  test("is not written by a dry run, which shows what would be sent", async () => {
    const { desk, first } = await edited();
    const dry = await desk.assemble({ dryRun: true });
    expect(dry.completed.assemblyId).toBeUndefined();
    tellsAgain(dry, first);
    tellsAgain(await desk.assemble(), first);
  });

  test("goes with its session", async () => {
    const { desk } = await edited();
    await desk.quire.ledger.deleteSession({ session: "desk" });
    await desk.quire.ledger.createSession({ label: "desk" });
    const again = await desk.assemble();
    expect(again.system.text).toContain("Edition two.");
    expect(again.prefix.previousAssemblyId).toBe("");
  });
});

test("a result that was made up for an open call is named where the call was answered after all", async () => {
  const desk = await WarmDesk.open();
  await desk.turn({}, { messages: [user("Search."), toolCalls("call-1")], status: TurnStatus.AWAITING });
  const pending = await desk.assemble();
  expect(JSON.stringify(pending.history)).toContain("no result was recorded");
  await desk.record(pending, { messages: [toolResults("call-1"), assistant("Found.")] });
  const after = await desk.assemble();
  expect(JSON.stringify(after.history)).not.toContain("no result was recorded");
  const compared = await desk.compare(pending, after);
  expect(compared).toMatchObject({ extends: false, layer: ContextLayer.HISTORY });
  expect(after.prefix.difference).toEqual(change("TURN", expect.any(String)));
  expect(after.prefix.firstDifference).toBe(compared.firstDifference);
});

test("a result that was made up for an open call is no difference where the call was given up", async () => {
  const desk = await WarmDesk.open();
  const first = await desk.turn(
    {},
    {
      messages: [user("Search."), toolCalls("call-1")],
      status: TurnStatus.AWAITING,
    },
  );
  const pending = await desk.assemble();
  await desk.quire.ledger.recordTurn({
    session: "desk",
    parentTurnId: first.turnId,
    messages: [user("Never mind."), assistant("Well.")],
    abandonOpenItems: true,
    assemblyId: pending.resolved.assemblyId,
  });
  const after = await desk.assemble();
  expect(after.prefix.difference).toBeUndefined();
  expect(await desk.compare(pending, after)).toMatchObject({ extends: true });
});
