import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FloorKind } from "../../src/contract/gen/quire/v1/compaction.js";
import { MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { assistant, system, toolCalls, toolResults, user } from "../support/messages.js";
import { contextRequest, exactModel, type PartialContext, putAgent } from "./agent.js";
import { checkBudget, checkPairs } from "./check-context.js";
import { openTestQuire, type TestQuire } from "./engine.js";
import { type FoldedContext, fold } from "./fold.js";
import { checkDelta, checkReplay, tokensBesideHistory } from "./keep-rules.js";

let quire: TestQuire;
let sessions = 0;

beforeAll(async () => {
  quire = await openTestQuire();
  await putAgent(quire);
});

afterAll(() => quire.close());

async function newSession(): Promise<string> {
  const label = `session-${++sessions}`;
  await quire.ledger.createSession({ label });
  return label;
}

async function assembled(context: PartialContext): Promise<FoldedContext> {
  const folded = await fold(quire.assembly.assemble({ context }));
  checkBudget(folded);
  checkPairs(folded.history);
  await checkReplay(quire, folded);
  return folded;
}

/** A request whose history has so many tokens. */
async function withRoom(session: string, tokens: number): Promise<PartialContext> {
  const context = contextRequest(session, exactModel);
  return { ...context, maxContextTokens: (await tokensBesideHistory(quire, context)) + tokens };
}

/** A first turn that waits for two results. */
async function awaiting(session: string): Promise<string> {
  const messages = [user("Look for both."), toolCalls("call-1", "call-2")];
  return (await quire.ledger.recordTurn({ session, messages, status: TurnStatus.AWAITING })).turn!.id;
}

describe("history", () => {
  test("gives calls that wait for an answer a result that says so, and takes it back when the answer is there", async () => {
    const session = await newSession();
    const parentTurnId = await awaiting(session);
    const held = await assembled(contextRequest(session, exactModel));
    expect(held.history.at(-1)).toMatchObject({ role: MessageRole.TOOL, id: "" });
    const messages = [toolResults("call-1", "call-2"), assistant("Found.")];
    await quire.ledger.recordTurn({ session, parentTurnId, messages });
    const after = await assembled(contextRequest(session, exactModel));
    expect(after.history.every(({ id }) => id !== "")).toBe(true);
    await checkDelta(quire, contextRequest(session, exactModel), held);
  });

  test("makes results up for calls that a turn of answers gave up when it was completed", async () => {
    const session = await newSession();
    const parentTurnId = await awaiting(session);
    const begun = await quire.ledger.beginTurn({
      session,
      parentTurnId,
      messages: [toolResults("call-1")],
      abandonOpenItems: true,
    });
    await quire.ledger.completeTurn({ turnId: begun.turn!.id });
    const { history } = await assembled(contextRequest(session, exactModel));
    expect(history.filter(({ id }) => id === "").length).toBe(1);
  });

  test("is sent whole to a caller who holds the waiting turn without the results that were made up since", async () => {
    const session = await newSession();
    const parentTurnId = await awaiting(session);
    const begun = await quire.ledger.beginTurn({
      session,
      parentTurnId,
      messages: [toolResults("call-1", "call-2")],
    });
    const held = await assembled({ ...contextRequest(session, exactModel), activeTurnId: begun.turn!.id });
    await quire.ledger.completeTurn({ turnId: begun.turn!.id, status: TurnStatus.FAILED });
    await quire.ledger.recordTurn({
      session,
      parentTurnId,
      messages: [user("Never mind.")],
      abandonOpenItems: true,
    });
    await checkDelta(quire, contextRequest(session, exactModel), held);
  });

  test("never begins with answers: a turn that is too large with the turn it answers is cut at a message of either", async () => {
    const session = await newSession();
    const long = { ...user(`Look for both. ${"word ".repeat(500)}`) };
    const first = await quire.ledger.recordTurn({
      session,
      messages: [long, toolCalls("call-1")],
      status: TurnStatus.AWAITING,
    });
    await quire.ledger.recordTurn({
      session,
      parentTurnId: first.turn!.id,
      messages: [toolResults("call-1")],
    });
    const folded = await assembled(await withRoom(session, 200));
    expect(folded.layer).toMatchObject({ turns: 2, splitMessageIndex: 1, elisionCount: 0, elisions: [] });
    expect(folded.completed.floors).toEqual([{ kind: FloorKind.SPLIT_TURN, value: 1 }]);
  });

  test("elides the largest results of a turn that cannot be split, and says their size", async () => {
    const session = await newSession();
    const content = [{ content: { $case: "text" as const, value: { text: "word ".repeat(3_000) } } }];
    const result = { callId: "call-1", content, isError: false };
    const big = { ...toolResults(), parts: [{ content: { $case: "toolResult" as const, value: result } }] };
    const messages = [
      system("Old prompt."),
      user("Look."),
      toolCalls("call-1", "call-2"),
      big,
      toolResults("call-2"),
    ];
    await quire.ledger.recordTurn({ session, messages });
    const folded = await assembled(await withRoom(session, 300));
    expect(folded.completed.floors).toEqual([
      { kind: FloorKind.SPLIT_TURN, value: 2 },
      { kind: FloorKind.ELIDED_RESULTS, value: 1 },
    ]);
    expect(JSON.stringify(folded.history)).toMatch(/\[left out: \d+ tokens of the result of search\]/);
  });

  test("leaves an open turn out that has nothing but a system message", async () => {
    const session = await newSession();
    const { turn } = await quire.ledger.beginTurn({ session, messages: [system("Old prompt.")] });
    const folded = await assembled({ ...contextRequest(session, exactModel), activeTurnId: turn!.id });
    expect(folded.layer).toMatchObject({ turns: 0, activeTurnId: "" });
    expect(folded.completed.floors).toEqual([]);
  });
});
