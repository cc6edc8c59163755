import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HistoryReplay } from "../../../src/contract/gen/quire/v1/assembly.js";
import { CompactionTrigger, FloorKind } from "../../../src/contract/gen/quire/v1/compaction.js";
import { BudgetPolicy, CompressionStrategy } from "../../../src/contract/gen/quire/v1/context_settings.js";
import { assembleChecked, tight } from "../../assembly/compacted-session.js";
import { openTestQuire, type TestQuire } from "../../assembly/engine.js";
import { bytesOf, fold } from "../../assembly/fold.js";
import { compactionsOf, growSession, longSession, plainTurn, textOf } from "../../assembly/long-session.js";
import { foundCompaction } from "../../support/found-turn.js";
import { assistant, user } from "../../support/messages.js";

let quire: TestQuire;
let sessions = 0;

beforeAll(async () => {
  quire = await openTestQuire();
});

afterAll(() => quire.close());

/** A session of so many turns of about 80 tokens each. */
async function session(turns: number): Promise<{ label: string; head: string }> {
  const label = `session-${++sessions}`;
  return { label, head: await longSession(quire, label, turns) };
}

describe("a compaction", () => {
  test("is made when history exceeds its room: a summary, then the last turns; the head stays where it is", async () => {
    const { label, head } = await session(12);
    const folded = await assembleChecked(quire, tight(label, 600));
    expect(folded.compaction.map(({ $case }) => $case)).toEqual(["started", "finished"]);
    expect(folded.compaction[0]).toMatchObject({
      value: {
        trigger: CompactionTrigger.CONTEXT_LIMIT,
        compressionStrategy: CompressionStrategy.SUMMARY,
        summarizers: ["extractive"],
      },
    });
    const made = folded.made!;
    expect(made).toMatchObject({
      anchorTurnId: head,
      depth: 12,
      previousCompactionId: "",
      summarizer: "extractive",
    });
    expect(made.summarizedTurns).toBeGreaterThan(6);
    expect(folded.layer).toMatchObject({ droppedTurns: 0, summarizedTurns: made.summarizedTurns });
    expect(folded.layer.tokens).toBe(made.tokensAfter);
    expect(folded.layer.tokens).toBeLessThanOrEqual(360);
    const { session: stored } = await quire.ledger.getSession({ session: label });
    expect(stored!.headTurnId).toBe(head);
  });

  test("is made of turns without a letter or a number, too, and says how many they were", async () => {
    const label = `session-${++sessions}`;
    const signs = "… !? — ".repeat(12);
    await longSession(quire, label, 12, () => [user(signs), assistant(signs)]);
    const { made } = await assembleChecked(quire, tight(label, 600));
    expect(made!.summary).toContain(String(made!.summarizedTurns));
  });

  test("stays until history exceeds its room again", async () => {
    const { label, head } = await session(12);
    const first = await assembleChecked(quire, tight(label, 600));
    await growSession(quire, label, [13, 13], head);
    const second = await assembleChecked(quire, tight(label, 600));
    expect(second.compaction).toEqual([]);
    expect(second.layer).toMatchObject({ compactionId: first.made!.id, turns: first.layer.turns + 1 });
  });

  test("summarizes the summary before it and what follows", async () => {
    const { label, head } = await session(12);
    const context = tight(label, 600, { compressionStrategy: CompressionStrategy.TRUNCATE });
    const first = await assembleChecked(quire, context);
    const later = await growSession(quire, label, [13, 20], head);
    const second = await assembleChecked(quire, context);
    expect(second.made).toMatchObject({
      anchorTurnId: later,
      depth: 20,
      previousCompactionId: first.made!.id,
    });
    expect(second.made!.summarizedTurns).toBeGreaterThan(first.made!.summarizedTurns);
    expect(second.made!.summary).toBe(`Earlier turns that are not shown: ${second.made!.summarizedTurns}.`);
    expect(await compactionsOf(quire, label)).toEqual([second.made, first.made]);
  });

  test.each([
    [CompressionStrategy.SUMMARY, "extractive", {}],
    [CompressionStrategy.TRUNCATE, "truncate", { keep_recent: "4" }],
    [CompressionStrategy.IMPORTANCE, "importance", {}],
    [CompressionStrategy.TIME_DECAY, "time_decay", { half_life_turns: "5" }],
  ])("by %s says so, with its parameters", async (compressionStrategy, summarizer, parameters) => {
    const { label } = await session(12);
    const settings = { compressionStrategy, keepRecent: 4, halfLifeTurns: 5 };
    const { made, layer } = await assembleChecked(quire, tight(label, 600, settings));
    expect(made).toMatchObject({ compressionStrategy, summarizer, failures: [] });
    expect(made!.parameters).toMatchObject({ keep_turns: "3", target_tokens: "360", ...parameters });
    if (compressionStrategy === CompressionStrategy.TRUNCATE) expect(layer.turns).toBeLessThanOrEqual(4);
  });

  test("is made for max_messages, too", async () => {
    const { label } = await session(12);
    const { made, history } = await assembleChecked(quire, tight(label, 50_000, { maxMessages: 15 }));
    expect(made!.trigger).toBe(CompactionTrigger.CONTEXT_LIMIT);
    expect(history.length).toBeLessThanOrEqual(9);
    expect(history.length).toBeGreaterThan(6);
  });

  test("applies to the thread with and without what was injected", async () => {
    const label = `session-${++sessions}`;
    const contextParts = [{ content: { $case: "text" as const, value: { text: "It rains. ".repeat(20) } } }];
    await longSession(quire, label, 12, (number) =>
      plainTurn(number).map((message, at) =>
        at === 0 ? { ...message, contextParts, contextJson: "{}" } : message,
      ),
    );
    const clean = await assembleChecked(quire, { ...tight(label, 600), replay: HistoryReplay.CLEAN });
    expect(clean.made).toBeDefined();
    expect(clean.history.every((message) => message.contextParts.length === 0)).toBe(true);
    expect(clean.layer.tokens).toBe(clean.made!.tokensAfter);
    const sent = await assembleChecked(quire, { ...tight(label, 1_000), replay: HistoryReplay.AS_SENT });
    expect(sent.layer).toMatchObject({ compactionId: clean.made!.id, turns: clean.layer.turns });
    const larger = await assembleChecked(quire, { ...tight(label, 6_000), replay: HistoryReplay.AS_SENT });
    expect(larger.layer).toMatchObject({ compactionId: "", turns: 12 });
  });

  test("is not made of a session without turns", async () => {
    const { label } = await session(0);
    const { history, layer, compaction } = await assembleChecked(quire, tight(label, 1));
    expect([history, compaction, layer.compactionId]).toEqual([[], [], ""]);
    await expect(quire.ledger.compact({ session: label })).rejects.toMatchObject({
      reason: "NOTHING_TO_COMPACT",
    });
  });

  test("is not made while the last turns fit when memory gives way", async () => {
    const { label } = await session(3);
    const limits = { maxTokens: 50_000_000, memoryTokens: 49_900_000 };
    const context = tight(label, 600);
    const { used } = (await fold(quire.assembly.assemble({ context: { ...context, dryRun: true } })))
      .completed.budget!;
    const folded = await assembleChecked(quire, {
      ...context,
      maxContextTokens: used!.total,
      settings: { ...context.settings, modelLimits: [{ model: context.model!, ...limits }] },
    });
    expect(folded.layer).toMatchObject({ turns: 3, compactionId: "" });
    expect(folded.completed.floors).toEqual([{ kind: FloorKind.MEMORY_GAVE_WAY }]);
  });

  test.each([
    ["a dry run", { dryRun: true }, {}],
    ["the window", {}, { compressionStrategy: CompressionStrategy.WINDOW }],
    ["STRICT_TRUNCATE", {}, { policy: BudgetPolicy.STRICT_TRUNCATE }],
  ])("is not made by %s, which shows the one that there is", async (_, request, settings) => {
    const { label } = await session(12);
    const without = await assembleChecked(quire, { ...tight(label, 600, settings), ...request });
    expect(without.compaction).toEqual([]);
    expect(without.layer.droppedTurns).toBeGreaterThan(0);
    expect(await compactionsOf(quire, label)).toEqual([]);
    const { made, history } = await assembleChecked(quire, tight(label, 600));
    const after = await assembleChecked(quire, { ...tight(label, 600, settings), ...request });
    expect(after.layer.compactionId).toBe(made!.id);
    expect(bytesOf(after.history)).toBe(bytesOf(history));
  });

  test("gives way before the newest turn does, and the context says so", async () => {
    const { label } = await session(30);
    const { made } = await assembleChecked(quire, tight(label, 1_500));
    expect(made!.summaryTokens).toBeGreaterThan(150);
    const small = await assembleChecked(
      quire,
      tight(label, 120, { compressionStrategy: CompressionStrategy.WINDOW }),
    );
    expect(small.layer).toMatchObject({ compactionId: "", summarizedTurns: 0, turns: 1, droppedTurns: 29 });
    expect(small.completed.floors).toEqual([
      { kind: FloorKind.SUMMARY_LEFT_OUT },
      { kind: FloorKind.KEEP_TURNS, value: 1 },
    ]);
  });

  test("begins with the text that marks it, and holds what the record holds", async () => {
    const { label } = await session(12);
    const { history, made } = await assembleChecked(quire, tight(label, 600));
    expect(textOf(history[0]!)).toBe(`[Previous conversation summary]\n${made!.summary}`);
    expect(foundCompaction(await quire.ledger.getTurn({ turnId: made!.id }))).toEqual(made);
  });
});
