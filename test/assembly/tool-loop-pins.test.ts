import { describe, expect, test } from "vitest";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { WarmDesk } from "./warm-desk.js";

const nobody = "0198c0de-0000-7000-8000-000000000001";

/** A desk with an open turn in which a tool was called, and the context of the next step. */
async function inToolLoop() {
  const desk = await WarmDesk.open();
  const first = await desk.assemble();
  const { turn } = await desk.quire.ledger.beginTurn({
    session: "desk",
    assemblyId: first.completed.assemblyId,
    messages: [user("And now?")],
  });
  const turnId = turn!.id;
  await desk.quire.ledger.appendMessages({ turnId, messages: [toolCalls("c1"), toolResults("c1")] });
  const step = await desk.assemble({ event: undefined, activeTurnId: turnId });
  return { desk, first, turnId, step };
}

describe("inside a tool loop", () => {
  test("AppendMessages with an assembly's id makes its context the one before", async () => {
    const { desk, turnId, step, first } = await inToolLoop();
    expect(step.prefix.previousAssemblyId).toBe(first.completed.assemblyId);
    const messages = [toolCalls("c2"), toolResults("c2")];
    await desk.quire.ledger.appendMessages({ turnId, messages, assemblyId: step.completed.assemblyId });
    const next = await desk.assemble({ event: undefined, activeTurnId: turnId });
    expect(next.prefix.previousAssemblyId).toBe(step.completed.assemblyId);
    expect(next.prefix.difference).toBeUndefined();
    await desk.close();
  });

  test("CompleteTurn with an assembly's id does so, too", async () => {
    const { desk, turnId, step } = await inToolLoop();
    const result = { messages: [assistant("At six.")] };
    await desk.quire.ledger.completeTurn({ turnId, result, assemblyId: step.completed.assemblyId });
    const next = await desk.assemble();
    expect(next.prefix.previousAssemblyId).toBe(step.completed.assemblyId);
    expect(next.completed.cachePlan!.readTokens).toBeGreaterThan(0);
    await desk.close();
  });

  test("an assembly that nobody knows changes nothing but for a warning", async () => {
    const { desk, turnId, first } = await inToolLoop();
    const messages = [assistant("At six.")];
    const appended = await desk.quire.ledger.appendMessages({ turnId, messages, assemblyId: nobody });
    expect(appended.warnings).toEqual([
      { kind: "WARNING_KIND_ASSEMBLY_UNKNOWN", detail: expect.stringContaining(nobody) },
    ]);
    expect(appended.turn!.messageCount).toBe(4);
    const completed = await desk.quire.ledger.completeTurn({ turnId, assemblyId: nobody });
    expect(completed.warnings).toEqual(appended.warnings);
    const next = await desk.assemble();
    expect(next.prefix.previousAssemblyId).toBe(first.completed.assemblyId);
    await desk.close();
  });

  test("a turn that took its lease before its first context is cached as one that began with it", async () => {
    const desk = await WarmDesk.open();
    await desk.turn();
    const { turn } = await desk.quire.ledger.beginTurn({ session: "desk", lease: {} });
    const activeTurnId = turn!.id;
    const first = await desk.assemble({ activeTurnId });
    expect(first.layer.activeTurnId).toBe("");
    const asked = [user("And now?"), toolCalls("c1"), toolResults("c1")];
    const { assemblyId } = first.completed;
    await desk.quire.ledger.appendMessages({ turnId: activeTurnId, assemblyId, messages: asked });
    const second = await desk.assemble({ activeTurnId, event: undefined });
    expect(second.prefix).toMatchObject({ previousAssemblyId: assemblyId, difference: undefined });
    expect(second.history.at(-3)!.contextParts).toEqual(first.current!.contextParts);
    await desk.quire.ledger.completeTurn({
      turnId: activeTurnId,
      assemblyId: second.completed.assemblyId,
      result: { messages: [assistant("At six.")] },
    });
    const next = await desk.assemble();
    expect(next.prefix.previousAssemblyId).toBe(second.completed.assemblyId);
    expect(next.prefix.difference).toBeUndefined();
    await desk.close();
  });
});
