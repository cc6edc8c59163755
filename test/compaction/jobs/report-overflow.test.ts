import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CompactionTrigger } from "../../../src/contract/gen/quire/v1/compaction.js";
import { TurnStatus } from "../../../src/contract/gen/quire/v1/turn.js";
import { contextRequest, exactModel, type PartialContext } from "../../assembly/agent.js";
import { assembleChecked, loop } from "../../assembly/compacted-session.js";
import { openTestQuire, type TestQuire, testNow } from "../../assembly/engine.js";
import type { FoldedContext } from "../../assembly/fold.js";
import { checkReplay } from "../../assembly/keep-rules.js";
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

  test("goes by what was refused where the window is said to hold far more", async () => {
    const { label } = await session(14);
    const wide = context(label, { maxContextTokens: 100_000 });
    const refused = (await assembleChecked(quire, wide)).completed;
    expect((await report(refused.assemblyId)).compaction).toBeDefined();
    const { completed } = await assembleChecked(quire, wide);
    expect(completed.budget!.used!.total).toBeLessThanOrEqual(0.4 * refused.budget!.used!.total);
  });

  test("does it once for a turn: a second one is an error", async () => {
    const { label } = await session(14);
    await report((await assembleChecked(quire, context(label))).completed.assemblyId);
    const second = await assembleChecked(quire, context(label));
    await expect(report(second.completed.assemblyId)).rejects.toMatchObject(unrecoverable);
    expect((await compactionsOf(quire, label)).length).toBe(1);
  });

  test("does not wait for the engine to write a summary, and says so", async () => {
    const { label } = await session(14);
    const asked = context(label);
    const settings = { ...asked.settings, summarizers: { names: ["engine"] } };
    const before = await assembleChecked(quire, { ...asked, settings });
    const { compaction } = await report(before.completed.assemblyId);
    expect(compaction).toMatchObject({
      summarizer: "extractive",
      failures: [{ summarizer: "engine", reason: expect.stringContaining("not asked after an overflow") }],
    });
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

  test("may happen for each call of a long loop, up to 16 times", async () => {
    const { label, turnId, looped } = await looping(9);
    const reported: string[] = [];
    const contexts: FoldedContext[] = [];
    let outcome: unknown;
    for (let round = 10; outcome === undefined && round < 300; round += 9) {
      const context = await assembleChecked(quire, looped);
      contexts.push(context);
      const { assemblyId } = context.completed;
      try {
        reported.push((await report(assemblyId)).compaction!.id);
      } catch (error) {
        outcome = error;
      }
      await expect(report(assemblyId)).rejects.toMatchObject(unrecoverable);
      await quire.ledger.appendMessages({ turnId, messages: loop("", 9, round) });
    }
    expect(outcome).toMatchObject({ ...unrecoverable, metadata: { why: "turn" } });
    expect(new Set(reported).size).toBe(16);
    expect(await compactionsOf(quire, label)).toHaveLength(0);
    await quire.ledger.completeTurn({ turnId, result: { messages: [assistant("Row 3 it is.")] } });
    // What was appended since, and the turn's end, change nothing of what was sent.
    for (const context of contexts) await checkReplay(quire, context);
  });

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

  test("is used up by one before the turn was begun, until the model has answered", async () => {
    const { label, head } = await session(14);
    await report((await assembleChecked(quire, context(label))).completed.assemblyId);
    const { turn } = await quire.ledger.beginTurn({
      session: label,
      parentTurnId: head,
      messages: [user("Go.")],
    });
    const inside = () => assembleChecked(quire, context(label, { activeTurnId: turn!.id }));
    await expect(report((await inside()).completed.assemblyId)).rejects.toMatchObject({
      ...unrecoverable,
      metadata: { why: "same_call" },
    });
    await quire.ledger.appendMessages({ turnId: turn!.id, messages: loop("", 5) });
    await report((await inside()).completed.assemblyId);
  });

  test("is for the thread without the turn when that has failed", async () => {
    const { label, turnId, looped } = await looping(9);
    const { assemblyId } = (await assembleChecked(quire, looped)).completed;
    await quire.ledger.completeTurn({ turnId, status: TurnStatus.FAILED });
    await expect(report(assemblyId)).rejects.toMatchObject(unrecoverable);
    expect(await compactionsOf(quire, label)).toEqual([]);
  });
});

describe("ReportOverflow with a number", () => {
  const overflow = (assemblyId: string | undefined, more: object) =>
    quire.assembly.reportOverflow({ assemblyId, ...more });
  const limitsOf = async (session: string) =>
    (await quire.ledger.getSession({ session })).session!.reportedLimits;
  /** With the whole window of the model. */
  const whole = (label: string) => context(label, { maxContextTokens: undefined });

  test("remembers the limit for the model: later contexts keep to it, and their budget says so", async () => {
    const { label, head } = await session(14);
    const before = (await assembleChecked(quire, whole(label))).completed;
    expect(before.budget!.reportedLimit).toBeUndefined();
    const answer = await overflow(before.assemblyId, { limitTokens: 2_000 });
    expect(answer.limitTokens).toBe(2_000);
    expect(await limitsOf(label)).toEqual([{ model: exactModel, tokens: 2_000 }]);
    const { budget } = (await assembleChecked(quire, whole(label))).completed;
    expect(budget).toMatchObject({ modelLimit: 2_000, reportedLimit: 2_000, available: 1_250 });
    expect(budget!.used!.total).toBeLessThanOrEqual(0.4 * 1_250);
    await growSession(quire, label, [15, 40], head);
    const grown = (await assembleChecked(quire, whole(label))).completed.budget!;
    expect(grown.used!.total).toBeLessThanOrEqual(1_250);
    const { session: forked } = await quire.ledger.forkSession({ session: label });
    expect(forked!.reportedLimits).toEqual([{ model: exactModel, tokens: 2_000 }]);
    await quire.ledger.updateSession({ session: label, forgetReportedLimits: true });
    const after = (await assembleChecked(quire, whole(label))).completed.budget!;
    expect(after).toMatchObject({ modelLimit: before.budget!.modelLimit, reportedLimit: undefined });
  });

  test("reads it from the provider's refusal; a text that nobody knows changes nothing else", async () => {
    const { label } = await session(14);
    const { assemblyId } = (await assembleChecked(quire, whole(label))).completed;
    const message = "prompt is too long: 2200 tokens > 2000 maximum";
    const errorBody = JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } });
    expect((await overflow(assemblyId, { errorBody })).limitTokens).toBe(2_000);
    const other = await session(14);
    const second = (await assembleChecked(quire, whole(other.label))).completed.assemblyId;
    const unknown = await overflow(second, { errorBody: "Ursprungszeichenlänge überschritten" });
    expect(unknown).toMatchObject({ compaction: { trigger: CompactionTrigger.OVERFLOW_RECOVERY } });
    expect(unknown.limitTokens).toBeUndefined();
  });

  test("takes a count without a limit for what was too much, and cuts deeper where it was more than counted", async () => {
    const { label } = await session(14);
    const before = (await assembleChecked(quire, whole(label))).completed;
    const total = before.budget!.used!.total;
    const { compaction, limitTokens } = await overflow(before.assemblyId, { reportedTokens: total * 2 });
    expect(limitTokens).toBe(total * 2 - 1);
    const plain = await session(14);
    const same = (await assembleChecked(quire, whole(plain.label))).completed;
    const other = await overflow(same.assemblyId, { limitTokens: total * 2 - 1 });
    expect(Number(compaction!.parameters.target_tokens)).toBeLessThan(
      Number(other.compaction!.parameters.target_tokens),
    );
  });

  test("is remembered where nothing is left to compact, if it is lower", async () => {
    const { label } = await session(0);
    await quire.ledger.recordTurn({ session: label, messages: [user("Hello."), assistant("Hello.")] });
    const { assemblyId } = (await assembleChecked(quire, whole(label))).completed;
    const requestId = `${label}-limit`;
    const told = await overflow(assemblyId, { limitTokens: 3_000, requestId });
    expect(told).toEqual({ compaction: undefined, limitTokens: 3_000 });
    expect(await overflow(assemblyId, { limitTokens: 3_000, requestId })).toEqual(told);
    // The same refusal says nothing new; a context that was made under the limit could be no shorter.
    expect(await overflow(assemblyId, { limitTokens: 3_000 })).toEqual(told);
    const later = (await assembleChecked(quire, whole(label))).completed;
    expect(later.budget!.reportedLimit).toBe(3_000);
    await expect(overflow(later.assemblyId, { limitTokens: 3_000 })).rejects.toMatchObject({
      ...unrecoverable,
      metadata: { why: "nothing_left" },
    });
  });
});
