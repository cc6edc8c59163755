import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CompactionTrigger } from "../../../src/contract/gen/quire/v1/compaction.js";
import { CompressionStrategy } from "../../../src/contract/gen/quire/v1/context_settings.js";
import { TurnStatus } from "../../../src/contract/gen/quire/v1/turn.js";
import { assembleChecked, tight } from "../../assembly/compacted-session.js";
import { openTestQuire, type TestQuire } from "../../assembly/engine.js";
import { compactionsOf, growSession, longSession } from "../../assembly/long-session.js";
import { assistant, toolCalls, toolResults, user } from "../../support/messages.js";
import { tempFolder } from "../../support/temp-folder.js";

let quire: TestQuire;
let sessions = 0;

beforeAll(async () => {
  quire = await openTestQuire();
});

afterAll(() => quire.close());

async function session(turns: number): Promise<{ label: string; head: string }> {
  const label = `session-${++sessions}`;
  return { label, head: await longSession(quire, label, turns) };
}

describe("Compact", () => {
  test("keeps the last 3 turns and summarizes all before them", async () => {
    const { label, head } = await session(10);
    const { compaction } = await quire.ledger.compact({ session: label });
    expect(compaction).toMatchObject({
      anchorTurnId: head,
      summarizedTurns: 7,
      trigger: CompactionTrigger.MANUAL,
      compressionStrategy: CompressionStrategy.SUMMARY,
      summarizer: "extractive",
      floors: [],
    });
    const { layer } = await assembleChecked(quire, tight(label, 10_000));
    expect(layer).toMatchObject({ compactionId: compaction!.id, turns: 3, tokens: compaction!.tokensAfter });
  });

  test("keeps as many as it is asked to", async () => {
    const { label } = await session(10);
    const { compaction } = await quire.ledger.compact({ session: label, keepTurns: 1 });
    expect(compaction!.summarizedTurns).toBe(9);
  });

  test("keeps as many as its target takes, and at least those", async () => {
    const { label } = await session(10);
    const targeted = await quire.ledger.compact({ session: label, keepTurns: 2, targetTokens: 600 });
    expect(targeted.compaction!.tokensAfter).toBeLessThanOrEqual(600);
    expect(targeted.compaction!.tokensAfter).toBeGreaterThan(400);
    const { compaction } = await quire.ledger.compact({ session: label, keepTurns: 2, targetTokens: 200 });
    expect(compaction).toMatchObject({ previousCompactionId: targeted.compaction!.id });
    expect(compaction!.floors.length).toBeGreaterThan(0);
  });

  test("asks the caller where the engine writes the summaries, and nothing is written until it comes", async () => {
    const { label } = await session(10);
    const summarizers = { names: ["engine"] };
    const instructions = "keep every parcel";
    const asked = await quire.ledger.compact({ session: label, summarizers, instructions });
    expect(asked.compaction).toBeUndefined();
    expect(asked.needed!.prompt).toContain(instructions);
    expect(await compactionsOf(quire, label)).toEqual([]);
    const summary = `Seven parcels left the house. ${asked.needed!.plan!.mustKeep.join(" ")}`;
    const { planToken } = asked.needed!;
    const { compaction } = await quire.ledger.submitCompaction({ session: label, planToken, summary });
    expect(compaction).toMatchObject({
      summarizer: "engine",
      summarizedTurns: 7,
      trigger: CompactionTrigger.MANUAL,
    });
  });

  test("asks those before the engine first", async () => {
    const { label } = await session(10);
    const { compaction, needed } = await quire.ledger.compact({
      session: label,
      summarizers: { names: ["extractive", "engine"] },
    });
    expect(compaction!.summarizer).toBe("extractive");
    expect(needed).toBeUndefined();
  });

  test("heeds instructions and records them", async () => {
    const label = `session-${++sessions}`;
    const head = await longSession(quire, label, 30);
    const messages = [user("My locker at the harbour has the code 7781."), assistant("Noted.")];
    const { turn } = await quire.ledger.recordTurn({ session: label, parentTurnId: head, messages });
    await growSession(quire, label, [31, 40], turn!.id);
    const instructions = "Keep everything about the locker at the harbour.";
    const { compaction } = await quire.ledger.compact({ session: label, instructions });
    expect(compaction!.instructions).toBe(instructions);
    expect(compaction!.summary).toContain("7781");
  });

  test.each([
    ["truncate", CompressionStrategy.TRUNCATE],
    ["importance", CompressionStrategy.IMPORTANCE],
    ["time_decay", CompressionStrategy.TIME_DECAY],
  ])("does it by %s where that is asked for", async (summarizer, compressionStrategy) => {
    const { label } = await session(10);
    const { compaction } = await quire.ledger.compact({ session: label, compressionStrategy });
    expect(compaction).toMatchObject({ compressionStrategy, summarizer, summarizedTurns: 7 });
  });

  test("does it once for one request_id, and again for another", async () => {
    const { label } = await session(10);
    const first = await quire.ledger.compact({ requestId: `${label}-1`, session: label });
    const again = await quire.ledger.compact({ requestId: `${label}-1`, session: label });
    expect(again).toEqual(first);
    const other = quire.ledger.compact({ requestId: `${label}-1`, session: label, keepTurns: 1 });
    await expect(other).rejects.toMatchObject({ reason: "REQUEST_ID_REUSED" });
    const next = await quire.ledger.compact({ requestId: `${label}-2`, session: label, keepTurns: 1 });
    expect(await compactionsOf(quire, label)).toEqual([next.compaction, first.compaction]);
  });

  test("says that there is nothing to compact where all turns are to be kept, or are summarized", async () => {
    const { label } = await session(3);
    const nothing = { reason: "NOTHING_TO_COMPACT" };
    await expect(quire.ledger.compact({ session: label })).rejects.toMatchObject(nothing);
    await quire.ledger.compact({ session: label, keepTurns: 1 });
    await expect(quire.ledger.compact({ session: label, keepTurns: 1 })).rejects.toMatchObject(nothing);
    expect((await compactionsOf(quire, label)).length).toBe(1);
  });

  test("fails with the reason where no summarizer gave a summary, and changes nothing", async () => {
    const { label } = await session(10);
    const failing = quire.ledger.compact({ session: label, summarizers: { names: ["openai", "anthropic"] } });
    await expect(failing).rejects.toMatchObject({
      reason: "COMPACTION_FAILED",
      metadata: { openai: expect.any(String), anthropic: "is not configured on this server" },
    });
    expect(await compactionsOf(quire, label)).toEqual([]);
    const { compaction } = await quire.ledger.compact({
      session: label,
      summarizers: { names: ["anthropic", "extractive"] },
    });
    expect(compaction).toMatchObject({ summarizer: "extractive", failures: [{ summarizer: "anthropic" }] });
  });

  test("of a session that is not there fails", async () => {
    await expect(quire.ledger.compact({ session: "nowhere" })).rejects.toMatchObject({
      reason: "SESSION_NOT_FOUND",
    });
  });

  test("keeps a turn with the one that answers it, though that is one more than should be kept", async () => {
    const { label, head } = await session(6);
    const asked = await quire.ledger.recordTurn({
      session: label,
      parentTurnId: head,
      messages: [user("Both, please."), toolCalls("call-1", "call-2")],
      status: TurnStatus.AWAITING,
    });
    await quire.ledger.recordTurn({
      session: label,
      parentTurnId: asked.turn!.id,
      messages: [toolResults("call-1", "call-2"), assistant("Done.")],
    });
    const { compaction } = await quire.ledger.compact({ session: label, keepTurns: 1 });
    expect(compaction).toMatchObject({
      firstKeptTurnId: asked.turn!.id,
      firstKeptMessageIndex: 0,
      floors: [],
    });
    expect((await assembleChecked(quire, tight(label, 10_000, { keepTurns: 1 }))).layer.turns).toBe(2);
  });

  test("does not disturb a turn that is being written", async () => {
    const { label, head } = await session(6);
    const { turn } = await quire.ledger.beginTurn({
      session: label,
      parentTurnId: head,
      messages: [user("Go on.")],
    });
    const { compaction } = await quire.ledger.compact({ session: label });
    await quire.ledger.completeTurn({ turnId: turn!.id, result: { messages: [assistant("Gone on.")] } });
    const { layer } = await assembleChecked(quire, tight(label, 10_000));
    expect(layer).toMatchObject({ compactionId: compaction!.id, lastTurnId: turn!.id, turns: 4 });
  });

  test("keeps as many turns as the server's setting says unless it is asked for others", async () => {
    const contextSettingsFile = join(tempFolder(), "settings.json");
    writeFileSync(contextSettingsFile, JSON.stringify({ keepTurns: 5 }));
    const other = await openTestQuire({ contextSettingsFile });
    try {
      await longSession(other, "kept", 10);
      const { compaction } = await other.ledger.compact({ session: "kept" });
      expect(compaction!.summarizedTurns).toBe(5);
    } finally {
      await other.close();
    }
  });

  test("makes a summary where the server's setting is to make none", async () => {
    const contextSettingsFile = join(tempFolder(), "settings.json");
    writeFileSync(
      contextSettingsFile,
      JSON.stringify({ compressionStrategy: "COMPRESSION_STRATEGY_WINDOW" }),
    );
    const other = await openTestQuire({ contextSettingsFile });
    try {
      await longSession(other, "windowed", 10);
      expect((await assembleChecked(other, tight("windowed", 600))).compaction).toEqual([]);
      const { compaction } = await other.ledger.compact({ session: "windowed" });
      expect(compaction).toMatchObject({
        compressionStrategy: CompressionStrategy.SUMMARY,
        summarizer: "extractive",
      });
    } finally {
      await other.close();
    }
  });
});
