import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CompactionTrigger } from "../../../src/contract/gen/quire/v1/compaction.js";
import { TurnStatus } from "../../../src/contract/gen/quire/v1/turn.js";
import { contextRequest, exactModel, type PartialContext } from "../../assembly/agent.js";
import { assembleChecked, loop } from "../../assembly/compacted-session.js";
import { openTestQuire, type TestQuire, testNow } from "../../assembly/engine.js";
import { compactionsOf, growSession, longSession } from "../../assembly/long-session.js";
import { assistant, user } from "../../support/messages.js";

let quire: TestQuire;
let sessions = 0;
let ticks = 0;

beforeAll(async () => {
  // What came first matters here.
  quire = await openTestQuire({}, () => testNow + ++ticks);
});

afterAll(() => quire.close());

async function session(turns: number): Promise<{ label: string; head: string }> {
  const label = `session-${++sessions}`;
  return { label, head: await longSession(quire, label, turns) };
}

/** A request that fits as it is: it was the model that said it does not. */
function context(label: string, more: PartialContext = {}): PartialContext {
  const settings = { softThreshold: 1, keepTurns: 1, modelLimits: [{ model: exactModel, memoryTokens: 0 }] };
  return contextRequest(label, exactModel, { maxContextTokens: 1_600, ...more, settings });
}

const report = (assemblyId: string | undefined, requestId = "") =>
  quire.assembly.reportOverflow({ assemblyId, requestId });
const unrecoverable = { reason: "OVERFLOW_UNRECOVERABLE" };

describe("ReportOverflow", () => {
  test("brings the whole context to 40 % of what is available", async () => {
    const { label, head } = await session(14);
    const before = await assembleChecked(quire, context(label));
    expect(before.layer).toMatchObject({ turns: 14, compactionId: "" });
    const { compaction } = await report(before.completed.assemblyId);
    expect(compaction).toMatchObject({
      trigger: CompactionTrigger.OVERFLOW_RECOVERY,
      anchorTurnId: head,
      parameters: { keep_turns: "1" },
    });
    const { completed, layer } = await assembleChecked(quire, context(label));
    expect(layer.compactionId).toBe(compaction!.id);
    expect(completed.budget!.used!.total).toBeLessThanOrEqual(0.4 * 1_600);
  });

  test("does it once for a turn: a second one is an error", async () => {
    const { label } = await session(14);
    await report((await assembleChecked(quire, context(label))).completed.assemblyId);
    const second = await assembleChecked(quire, context(label));
    await expect(report(second.completed.assemblyId)).rejects.toMatchObject(unrecoverable);
    expect((await compactionsOf(quire, label)).length).toBe(1);
  });

  test("answers the same request with the same compaction", async () => {
    const { label } = await session(14);
    const { assemblyId } = (await assembleChecked(quire, context(label))).completed;
    const first = await report(assemblyId, `${label}-1`);
    expect(await report(assemblyId, `${label}-1`)).toEqual(first);
  });

  test("does it again for the next turn", async () => {
    const { label, head } = await session(14);
    await report((await assembleChecked(quire, context(label))).completed.assemblyId);
    await growSession(quire, label, [15, 22], head);
    const later = await assembleChecked(quire, context(label));
    expect((await report(later.completed.assemblyId)).compaction!.previousCompactionId).not.toBe("");
  });

  test("of an assembly under a head that has moved is an error", async () => {
    const { label, head } = await session(14);
    const { assemblyId } = (await assembleChecked(quire, context(label))).completed;
    await growSession(quire, label, [15, 15], head);
    await expect(report(assemblyId)).rejects.toMatchObject({ reason: "HEAD_MOVED" });
  });

  test("has nothing left to do where a thread cannot be cut", async () => {
    const { label } = await session(0);
    await quire.ledger.recordTurn({ session: label, messages: [user("Hello."), assistant("Hello.")] });
    const { assemblyId } = (await assembleChecked(quire, context(label))).completed;
    await expect(report(assemblyId)).rejects.toMatchObject(unrecoverable);
  });

  test("needs an assembly that was recorded: none of a dry run", async () => {
    const { label } = await session(14);
    const { resolved } = await assembleChecked(quire, context(label, { dryRun: true }));
    await expect(report(resolved.assemblyId)).rejects.toMatchObject({ reason: "RECEIPT_NOT_FOUND" });
  });
});

describe("ReportOverflow inside a turn", () => {
  async function looping(rounds: number): Promise<{ label: string; turnId: string; looped: PartialContext }> {
    const { label, head } = await session(1);
    const messages = loop("Look for a seat.", rounds);
    const { turn } = await quire.ledger.beginTurn({ session: label, parentTurnId: head, messages });
    return { label, turnId: turn!.id, looped: context(label, { activeTurnId: turn!.id }) };
  }

  test("splits the open turn, once", async () => {
    const { turnId, looped } = await looping(9);
    const { compaction } = await report((await assembleChecked(quire, looped)).completed.assemblyId);
    expect(compaction).toMatchObject({ anchorTurnId: turnId, firstKeptTurnId: turnId });
    const again = await assembleChecked(quire, looped);
    expect(again.completed.budget!.used!.total).toBeLessThanOrEqual(0.4 * 1_600);
    await expect(report(again.completed.assemblyId)).rejects.toMatchObject(unrecoverable);
  });

  test("does not use up what the turn after it may have", async () => {
    const { label, turnId, looped } = await looping(9);
    const inside = await report((await assembleChecked(quire, looped)).completed.assemblyId);
    const messages = [...loop("", 5, 10), assistant("Row 3 it is.")];
    await quire.ledger.completeTurn({ turnId, result: { messages } });
    const next = await assembleChecked(quire, context(label));
    const { compaction } = await report(next.completed.assemblyId);
    expect(compaction).toMatchObject({ anchorTurnId: turnId, previousCompactionId: inside.compaction!.id });
    const again = await assembleChecked(quire, context(label));
    await expect(report(again.completed.assemblyId)).rejects.toMatchObject(unrecoverable);
  });

  test("is used up by one before the turn was begun", async () => {
    const { label, head } = await session(14);
    await report((await assembleChecked(quire, context(label))).completed.assemblyId);
    const { turn } = await quire.ledger.beginTurn({
      session: label,
      parentTurnId: head,
      messages: loop("Go.", 5),
    });
    const inside = await assembleChecked(quire, context(label, { activeTurnId: turn!.id }));
    await expect(report(inside.completed.assemblyId)).rejects.toMatchObject(unrecoverable);
  });

  test("is for the thread without the turn when that has failed", async () => {
    const { label, turnId, looped } = await looping(9);
    const { assemblyId } = (await assembleChecked(quire, looped)).completed;
    await quire.ledger.completeTurn({ turnId, status: TurnStatus.FAILED });
    await expect(report(assemblyId)).rejects.toMatchObject(unrecoverable);
    expect(await compactionsOf(quire, label)).toEqual([]);
  });
});
