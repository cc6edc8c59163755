import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CompactionTurn } from "../../../src/contract/gen/quire/v1/compaction.js";
import { HistoryView } from "../../../src/contract/gen/quire/v1/ledger_service.js";
import type { Message } from "../../../src/contract/gen/quire/v1/message.js";
import { assembleChecked, loop, threadOf, tight, view } from "../../assembly/compacted-session.js";
import { openTestQuire, type TestQuire } from "../../assembly/engine.js";
import { bytesOf } from "../../assembly/fold.js";
import { compactionsOf, growSession, longSession } from "../../assembly/long-session.js";
import { assistant, system } from "../../support/messages.js";

const { EFFECTIVE, FULL } = HistoryView;
let quire: TestQuire;

/** Ten turns, of which six are summarized. */
let plain: CompactionTurn;
let plainTurns: readonly string[];
/** Two turns, of which one and the beginning of the other are summarized. */
let split: CompactionTurn;
let splitTurns: readonly string[];

beforeAll(async () => {
  quire = await openTestQuire();
  await longSession(quire, "plain", 10);
  plain = (await quire.ledger.compact({ session: "plain", keepTurns: 4 })).compaction!;
  plainTurns = (await threadOf(quire, "plain")).map(({ id }) => id);

  const parentTurnId = await longSession(quire, "split", 1);
  const { turn } = await quire.ledger.beginTurn({
    session: "split",
    parentTurnId,
    messages: [system("Old prompt."), ...loop("Look for a seat.", 3)],
  });
  await quire.ledger.appendMessages({ turnId: turn!.id, messages: loop("", 3, 4) });
  const result = { messages: [...loop("", 2, 7), assistant("Row 3 it is.")] };
  await quire.ledger.completeTurn({ turnId: turn!.id, result });
  split = (await assembleChecked(quire, tight("split", 700))).made!;
  splitTurns = (await threadOf(quire, "split")).map(({ id }) => id);
});

afterAll(() => quire.close());

function turnsIn(messages: readonly Message[]): string[] {
  return [...new Set(messages.map(({ turnId }) => turnId))];
}

describe("the full view", () => {
  test("is every message, whatever was compacted", async () => {
    const { thread, messages } = await view(quire, { session: "plain" }, FULL);
    expect(thread).toMatchObject({ depth: 10, streamedTurns: 10, compactionId: "" });
    expect(turnsIn(messages)).toEqual(plainTurns);
  });
});

describe("the effective view", () => {
  test("is the summary, and then what is kept", async () => {
    const { thread, messages } = await view(quire, { session: "plain" }, EFFECTIVE);
    expect(thread).toMatchObject({ depth: 10, streamedTurns: 4, compactionId: plain.id });
    expect(turnsIn(messages)).toEqual([plain.id, ...plainTurns.slice(6)]);
    const full = await view(quire, { session: "plain" }, FULL);
    expect(bytesOf(messages.slice(1))).toBe(bytesOf(full.messages.slice(12)));
  });

  test("begins inside a turn that was split, at the first message that is kept", async () => {
    expect(split).toMatchObject({ summarizedTurns: 1, firstKeptTurnId: splitTurns[1] });
    // More than one write call, and not at the beginning of one.
    expect(split.firstKeptMessageIndex).toBeGreaterThan(8);
    const { thread, messages } = await view(quire, { session: "split" }, EFFECTIVE);
    expect(thread).toMatchObject({ streamedTurns: 1, compactionId: split.id });
    const full = (await view(quire, { session: "split" }, FULL)).messages;
    const from = full.findIndex(
      ({ turnId, index }) => turnId === splitTurns[1] && index === split.firstKeptMessageIndex,
    );
    expect(bytesOf(messages.slice(1))).toBe(bytesOf(full.slice(from)));
  });

  test.each([
    ["a summarized turn", 3, true, 4],
    ["the last summarized turn", 6, false, 4],
    ["a kept turn", 8, false, 2],
    ["the last turn", 10, false, 0],
  ])("after %s has the summary only where it is needed", async (_, depth, hasSummary, kept) => {
    const afterTurnId = plainTurns[depth - 1]!;
    const { thread, messages } = await view(quire, { session: "plain" }, EFFECTIVE, { afterTurnId });
    expect(thread).toMatchObject({ streamedTurns: kept, compactionId: hasSummary ? plain.id : "" });
    const summary = hasSummary ? [plain.id] : [];
    expect(turnsIn(messages)).toEqual([...summary, ...plainTurns.slice(10 - kept)]);
  });

  test.each([
    [8, true, 4],
    [4, false, 4],
    [2, false, 2],
  ])("of the last %i turns has the summary only where it is needed", async (lastTurns, hasSummary, kept) => {
    const { thread, messages } = await view(quire, { session: "plain" }, EFFECTIVE, { lastTurns });
    expect(thread).toMatchObject({ streamedTurns: kept, compactionId: hasSummary ? plain.id : "" });
    expect(turnsIn(messages).slice(hasSummary ? 1 : 0)).toEqual(plainTurns.slice(10 - kept));
  });

  test("of a turn that was split has the summary, however it is asked for", async () => {
    for (const more of [{ lastTurns: 1 }, { afterTurnId: splitTurns[0]! }]) {
      const { thread, messages } = await view(quire, { session: "split" }, EFFECTIVE, more);
      expect(thread).toMatchObject({ streamedTurns: 1, compactionId: split.id });
      expect(turnsIn(messages)).toEqual([split.id, splitTurns[1]]);
      expect(messages[1]!.index).toBe(split.firstKeptMessageIndex);
    }
  });

  test("of a thread that ends before the compaction is the whole of it", async () => {
    const turnId = plainTurns[8]!;
    const { thread, messages } = await view(quire, { turnId }, EFFECTIVE);
    expect(thread).toMatchObject({ depth: 9, streamedTurns: 9, compactionId: "" });
    expect(turnsIn(messages)).toEqual(plainTurns.slice(0, 9));
  });

  test("ends at no compaction: it is no turn of a thread", async () => {
    await expect(view(quire, { turnId: plain.id }, EFFECTIVE)).rejects.toMatchObject({
      reason: "TURN_NOT_FOUND",
    });
  });
});

describe("a compaction is read", () => {
  test("by GetTurn, which says that it is no turn", async () => {
    expect(await quire.ledger.getTurn({ turnId: plain.id })).toEqual({
      found: { $case: "compaction", value: plain },
    });
  });

  test("by ListTurns, on the page of the turn that it hangs off, the newest first", async () => {
    const head = await longSession(quire, "listed", 6);
    const first = (await quire.ledger.compact({ session: "listed", keepTurns: 3 })).compaction!;
    const second = (await quire.ledger.compact({ session: "listed", keepTurns: 1 })).compaction!;
    expect(second).toMatchObject({ anchorTurnId: head, previousCompactionId: first.id });
    await growSession(quire, "listed", [7, 8], head);
    const page = await quire.ledger.listTurns({ session: "listed", pageSize: 2 });
    expect(page.compactions).toEqual([]);
    const { nextPageToken: pageToken } = page;
    const next = await quire.ledger.listTurns({ session: "listed", pageSize: 2, pageToken });
    expect(next.compactions).toEqual([second, first]);
    expect(await compactionsOf(quire, "listed")).toEqual([second, first]);
  });
});
