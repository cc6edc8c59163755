import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CompactionTrigger, FloorKind } from "../../../src/contract/gen/quire/v1/compaction.js";
import { CompressionStrategy } from "../../../src/contract/gen/quire/v1/context_settings.js";
import { HistoryView } from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { TurnStatus } from "../../../src/contract/gen/quire/v1/turn.js";
import {
  assembleChecked,
  type Compacted,
  loop,
  threadOf,
  tight,
  view,
} from "../../assembly/compacted-session.js";
import { openTestQuire, type TestQuire } from "../../assembly/engine.js";
import { compactionsOf, growSession, longSession } from "../../assembly/long-session.js";
import { foundCompaction } from "../../support/found-turn.js";
import { assistant } from "../../support/messages.js";

let quire: TestQuire;
let sessions = 0;

beforeAll(async () => {
  quire = await openTestQuire();
});

afterAll(() => quire.close());

/** A session of 16 turns whose first ones were summarized at the twelfth, and the ids of its turns. */
async function summarized(): Promise<{ label: string; turns: readonly string[]; compacted: Compacted }> {
  const label = `session-${++sessions}`;
  const head = await longSession(quire, label, 12);
  const compacted = await assembleChecked(quire, tight(label, 600));
  expect(compacted.made).toBeDefined();
  await growSession(quire, label, [13, 16], head);
  const turns = (await threadOf(quire, label)).map(({ id }) => id);
  return { label, turns, compacted };
}

async function fork(turnId: string): Promise<string> {
  const label = `fork-${++sessions}`;
  await quire.ledger.forkSession({ at: { $case: "turnId", value: turnId }, label });
  return label;
}

describe("a fork", () => {
  test.each([
    ["inside the summarized turns", 2],
    ["between them and the turn at which they were summarized", 10],
  ])("from %s sees the original turns", async (_, depth) => {
    const { turns } = await summarized();
    const label = await fork(turns[depth - 1]!);
    const { layer } = await assembleChecked(quire, tight(label, 10_000));
    expect(layer).toMatchObject({ compactionId: "", turns: depth });
    const { thread } = await view(quire, { session: label }, HistoryView.EFFECTIVE);
    expect(thread).toMatchObject({ compactionId: "", streamedTurns: depth });
  });

  test.each([
    ["at the turn at which they were summarized", 12],
    ["after it", 14],
  ])("from %s sees the summary", async (_, depth) => {
    const { turns, compacted } = await summarized();
    const label = await fork(turns[depth - 1]!);
    await growSession(quire, label, [101, 102], turns[depth - 1]!);
    const { layer, made } = await assembleChecked(quire, tight(label, 800));
    const { id, summarizedTurns } = compacted.made!;
    expect(made).toBeUndefined();
    expect(layer).toMatchObject({ compactionId: id, turns: depth + 2 - summarizedTurns });
  });

  test("has compactions of its own, which the other thread does not see", async () => {
    const { label, turns, compacted } = await summarized();
    const forked = await fork(turns[12]!);
    await growSession(quire, forked, [101, 108], turns[12]!);
    const own = await assembleChecked(quire, tight(forked, 600));
    expect(own.made).toMatchObject({ previousCompactionId: compacted.made!.id });
    expect((await assembleChecked(quire, tight(label, 800))).layer.compactionId).toBe(compacted.made!.id);
  });

  test("before the summarized turns can be summarized again, in another way", async () => {
    const { turns } = await summarized();
    const label = await fork(turns[9]!);
    const { made } = await assembleChecked(quire, tight(label, 400));
    expect(made).toMatchObject({ previousCompactionId: "", anchorTurnId: turns[9], depth: 10 });
  });
});

describe("a head that is moved", () => {
  test("back before the compaction shows the original turns, and forward again the summary", async () => {
    const { label, turns, compacted } = await summarized();
    const move = (from: number, to: number) =>
      quire.ledger.updateSession({
        session: label,
        headTurnId: turns[to - 1]!,
        expectedHeadTurnId: turns[from - 1]!,
      });
    await move(16, 8);
    expect((await assembleChecked(quire, tight(label, 800))).layer).toMatchObject({
      compactionId: "",
      turns: 8,
    });
    await move(8, 16);
    const { layer } = await assembleChecked(quire, tight(label, 800));
    expect(layer.compactionId).toBe(compacted.made!.id);
  });
});

/** A session of so many turns, and an open turn with so many rounds of calls. */
async function looping(
  turns: number,
  rounds: number,
): Promise<{ label: string; head: string; turnId: string }> {
  const label = `session-${++sessions}`;
  const head = await longSession(quire, label, turns);
  const messages = loop("Look for a seat.", rounds);
  const { turn } = await quire.ledger.beginTurn({ session: label, parentTurnId: head, messages });
  return { label, head, turnId: turn!.id };
}

describe("inside a tool loop", () => {
  test("an open turn that is too large is split before an assistant's message, off which the compaction hangs", async () => {
    const { label, turnId } = await looping(4, 8);
    const { made, layer } = await assembleChecked(quire, { ...tight(label, 700), activeTurnId: turnId });
    expect(made).toMatchObject({
      anchorTurnId: turnId,
      depth: 0,
      trigger: CompactionTrigger.TOOL_LOOP,
      firstKeptTurnId: turnId,
      summarizedTurns: 4,
    });
    expect(made!.firstKeptMessageIndex).toBeGreaterThan(0);
    expect(layer).toMatchObject({
      turns: 1,
      splitMessageIndex: made!.firstKeptMessageIndex,
      activeMessageCount: 17,
    });
    // The thread without the open turn is as it was.
    const without = await assembleChecked(quire, tight(label, 700));
    expect(without.layer).toMatchObject({ compactionId: "", turns: 4 });
  });

  test("a second compaction stands on the first, and says where the whole turn is split", async () => {
    const { label, turnId } = await looping(1, 8);
    const settings = { compressionStrategy: CompressionStrategy.TRUNCATE };
    const context = { ...tight(label, 700, settings), activeTurnId: turnId };
    const first = await assembleChecked(quire, context);
    await quire.ledger.appendMessages({ turnId, messages: loop("", 6, 9) });
    const second = await assembleChecked(quire, context);
    expect(second.made).toMatchObject({ anchorTurnId: turnId, previousCompactionId: first.made!.id });
    expect(second.made!.firstKeptMessageIndex).toBeGreaterThan(first.made!.firstKeptMessageIndex);
    expect(second.made!.summary).toBe("Earlier turns that are not shown: 2.");
    expect(second.made!.floors).toContainEqual({
      kind: FloorKind.SPLIT_TURN,
      value: second.made!.firstKeptMessageIndex,
    });
    expect(second.completed.floors).toContainEqual({
      kind: FloorKind.SPLIT_TURN,
      value: second.layer.splitMessageIndex,
    });
  });

  test("what was compacted applies to the thread when the turn is completed", async () => {
    const { label, turnId } = await looping(4, 8);
    const { made } = await assembleChecked(quire, { ...tight(label, 700), activeTurnId: turnId });
    await quire.ledger.completeTurn({ turnId, result: { messages: [assistant("Row 3 it is.")] } });
    const after = await assembleChecked(quire, tight(label, 700));
    expect(after.layer).toMatchObject({ compactionId: made!.id, turns: 1 });
    expect(foundCompaction(await quire.ledger.getTurn({ turnId: made!.id })).depth).toBe(5);
    expect((await compactionsOf(quire, label)).map(({ id }) => id)).toEqual([made!.id]);
  });

  test("it does not when the turn fails, even where all turns before it were summarized", async () => {
    for (const rounds of [8, 2]) {
      const { label, turnId } = await looping(4, rounds);
      const context = tight(label, rounds === 8 ? 700 : 450, { keepTurns: 1 });
      const { made } = await assembleChecked(quire, { ...context, activeTurnId: turnId });
      expect(made).toMatchObject({ anchorTurnId: turnId, firstKeptTurnId: turnId });
      expect(made!.firstKeptMessageIndex > 0).toBe(rounds === 8);
      await quire.ledger.completeTurn({ turnId, status: TurnStatus.FAILED });
      const after = await assembleChecked(quire, tight(label, 10_000));
      expect(after.layer).toMatchObject({ compactionId: "", turns: 4 });
    }
  });

  test("a cut before the open turn hangs off the head, and outlives the turn", async () => {
    const { label, head, turnId } = await looping(12, 1);
    const { made } = await assembleChecked(quire, { ...tight(label, 700), activeTurnId: turnId });
    expect(made).toMatchObject({ anchorTurnId: head, depth: 12, firstKeptMessageIndex: 0 });
    await quire.ledger.completeTurn({ turnId, status: TurnStatus.FAILED });
    expect((await assembleChecked(quire, tight(label, 700))).layer.compactionId).toBe(made!.id);
  });

  test("the first turn of a session can be compacted, too", async () => {
    const { label, turnId } = await looping(0, 8);
    const { made, layer } = await assembleChecked(quire, { ...tight(label, 700), activeTurnId: turnId });
    expect(made).toMatchObject({ anchorTurnId: turnId, lastSummarizedTurnId: "", summarizedTurns: 0 });
    expect(layer).toMatchObject({ turns: 1, summarizedTurns: 0 });
    await quire.ledger.completeTurn({ turnId, result: { messages: [assistant("Row 3 it is.")] } });
    expect((await assembleChecked(quire, tight(label, 700))).layer.compactionId).toBe(made!.id);
  });
});

describe("DeleteSession", () => {
  test("erases compactions with the turns that they hang off, and keeps those of turns that a fork keeps", async () => {
    const { label, turns, compacted } = await summarized();
    const forked = await fork(turns[12]!);
    const later = await quire.ledger.compact({ session: label, keepTurns: 1 });
    const { turn } = await quire.ledger.beginTurn({
      session: label,
      parentTurnId: turns[15]!,
      messages: loop("Look for a seat.", 8),
    });
    const open = await assembleChecked(quire, { ...tight(label, 700), activeTurnId: turn!.id });
    await quire.ledger.deleteSession({ session: label });
    for (const { id } of [later.compaction!, open.made!])
      await expect(quire.ledger.getTurn({ turnId: id })).rejects.toMatchObject({ reason: "TURN_NOT_FOUND" });
    const kept = await assembleChecked(quire, tight(forked, 800));
    expect(kept.layer.compactionId).toBe(compacted.made!.id);
    await quire.ledger.deleteSession({ session: forked });
    await expect(quire.ledger.getTurn({ turnId: compacted.made!.id })).rejects.toMatchObject({
      reason: "TURN_NOT_FOUND",
    });
  });
});
