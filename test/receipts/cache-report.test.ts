import { describe, expect, test } from "vitest";
import type { ContextChange } from "../../src/contract/gen/quire/v1/prompt_cache.js";
import { change } from "../assembly/change.js";
import { rules, ttlMs, WarmDesk, warmModel } from "../assembly/warm-desk.js";

/** What a provider would report that did just what was predicted. */
const asPredicted = async (desk: WarmDesk, more = {}) => {
  const sent = await desk.assemble(more);
  const { readTokens, writeTokens, freshTokens } = sent.completed.cachePlan!;
  const usage = {
    inputTokens: readTokens + writeTokens + freshTokens,
    cachedInputTokens: readTokens,
    cacheWriteTokens: writeTokens,
    outputTokens: 5,
  };
  return { ...sent, turnId: await desk.record(sent, { usage }), usage };
};

const reportOf = (desk: WarmDesk, turns = 0) =>
  desk.quire.assembly.getCacheReport({ session: "desk", turns });

describe("GetCacheReport", () => {
  test("sets what was reported beside what was predicted, turn by turn, oldest first", async () => {
    const desk = await WarmDesk.open();
    const sent = [await asPredicted(desk), await asPredicted(desk), await asPredicted(desk)];
    const { turns } = await reportOf(desk);
    expect(turns.map(({ turnId, assemblyId }) => [turnId, assemblyId])).toEqual(
      sent.map(({ turnId, completed }) => [turnId, completed.assemblyId]),
    );
    for (const [at, turn] of turns.entries()) {
      const { usage, completed } = sent[at]!;
      expect(turn.predicted).toEqual(completed.cachePlan);
      expect(turn).toMatchObject({
        model: warmModel,
        inputTokens: usage.inputTokens,
        cachedInputTokens: usage.cachedInputTokens,
        cacheWriteTokens: usage.cacheWriteTokens,
        hitRate: usage.cachedInputTokens / usage.inputTokens,
      });
    }
    expect(turns.map(({ missCause }) => missCause)).toEqual([change("FIRST_CONTEXT"), undefined, undefined]);
    expect(turns[2]!.hitRate).toBeGreaterThan(0.9);
  });

  test("sums up per model, of the turns whose usage was reported", async () => {
    const desk = await WarmDesk.open();
    const own = [await asPredicted(desk), await asPredicted(desk)];
    const other = await asPredicted(desk, { model: "gpt-6-sol" });
    await desk.turn();
    const { models } = await reportOf(desk);
    const input = own.reduce((sum, { usage }) => sum + usage.inputTokens, 0);
    const cached = own.reduce((sum, { usage }) => sum + usage.cachedInputTokens, 0);
    expect(models).toEqual([
      {
        model: warmModel,
        turns: 2,
        inputTokens: input,
        cachedInputTokens: cached,
        hitRate: cached / input,
        predictedHitRate: cached / input,
      },
      {
        model: "gpt-6-sol",
        turns: 1,
        inputTokens: other.usage.inputTokens,
        cachedInputTokens: 0,
        hitRate: 0,
        predictedHitRate: 0,
      },
    ]);
  });

  test("says why something was missed: the time, a section, tools, a compaction, or the provider", async () => {
    const desk = await WarmDesk.open();
    for (let turn = 0; turn < 5; turn++) await asPredicted(desk);
    const causes: (ContextChange | undefined)[] = [];
    const causeAfter = async (change: () => unknown, more = {}) => {
      await change();
      await asPredicted(desk, more);
      causes.push((await reportOf(desk, 1)).turns[0]!.missCause);
    };
    await causeAfter(() => desk.wait(ttlMs + 1));
    await causeAfter(() => desk.prime("Obey the law."));
    await causeAfter(() => desk.write({ "AGENTS.md": rules("two") }));
    await causeAfter(() => undefined, { tools: [] });
    await causeAfter(() => undefined);
    await causeAfter(() => desk.quire.ledger.compact({ session: "desk", keepTurns: 1 }));
    expect(causes).toEqual([
      change("TTL_PASSED"),
      change("SECTION", "override"),
      undefined,
      change("TOOLS"),
      change("TOOLS"),
      change("CUT"),
    ]);
    const sent = await desk.assemble();
    expect(sent.completed.cachePlan!.readTokens).toBeGreaterThan(0);
    await desk.record(sent, { usage: { inputTokens: 2_000, cachedInputTokens: 0 } });
    const [last] = (await reportOf(desk, 1)).turns;
    expect(last!.missCause).toEqual(change("PROVIDER"));
  });

  test("says nothing of turns without usage, and names no prediction for turns without an assembly", async () => {
    const desk = await WarmDesk.open();
    await desk.turn();
    await desk.turn({}, { isUnnamed: true, usage: { inputTokens: 900, cachedInputTokens: 0 } });
    const { turns, models } = await reportOf(desk);
    expect(turns[0]).toMatchObject({ inputTokens: 0, hitRate: 0, missCause: undefined });
    expect(turns[1]).toMatchObject({
      assemblyId: "",
      predicted: undefined,
      missCause: change("NOT_KEPT"),
    });
    expect(models).toMatchObject([{ turns: 1, inputTokens: 900, predictedHitRate: 0 }]);
  });

  test("looks at the last turns of the thread, across a fork, 20 where nobody says", async () => {
    const desk = await WarmDesk.open();
    const ids: string[] = [];
    for (let turn = 0; turn < 24; turn++) ids.push((await desk.turn()).turnId);
    const idsOf = async (turns: number) => (await reportOf(desk, turns)).turns.map(({ turnId }) => turnId);
    expect(await idsOf(0)).toEqual(ids.slice(-20));
    expect(await idsOf(3)).toEqual(ids.slice(-3));
    expect(await idsOf(1_000)).toEqual(ids);
    await desk.moveHead(ids[9]!);
    const branched = (await desk.turn()).turnId;
    expect(await idsOf(4)).toEqual([ids[7], ids[8], ids[9], branched]);
  });

  test("is empty for a session without turns, and fails for one that is not there", async () => {
    const desk = await WarmDesk.open();
    expect(await reportOf(desk)).toEqual({ turns: [], models: [] });
    const call = (session: string, turns: number) => desk.quire.assembly.getCacheReport({ session, turns });
    await expect(call("nobody", 0)).rejects.toMatchObject({ reason: "SESSION_NOT_FOUND" });
    await expect(call("desk", 1_001)).rejects.toMatchObject({ reason: "INVALID_FIELD" });
  });
});
