import { describe, expect, test } from "vitest";
import { HistoryView } from "../../src/contract/gen/quire/v1/ledger_service.js";
import type { Quire } from "../../src/index.js";
import { assistant, user } from "../support/messages.js";
import { contextRequest, exactModel, type PartialContext, putAgent } from "./agent.js";
import { view } from "./compacted-session.js";
import { bytesOf } from "./fold.js";
import {
  type Assembled,
  assembled,
  compactionsOf,
  growSession,
  longSession,
  plainTurn,
} from "./long-session.js";
import { openedEngine } from "./opened-engine.js";

const hourMs = 3_600_000;

/** A desk at which one session is assembled for windows of different sizes, and each turn answers the context that is named. */
async function deskOf(turnWords: number) {
  const clock = { ms: Date.UTC(2026, 0, 15), now: () => clock.ms };
  const opened = await openedEngine({}, { clock });
  const { quire } = opened;
  await putAgent(quire);
  await quire.ledger.createSession({ label: "desk" });
  let head = "";
  let turns = 0;
  const words = (count: number) => "parcel ".repeat(count).trim();
  const assemble = (maxContextTokens: number, more: PartialContext = {}): Promise<Assembled> =>
    assembled(
      quire.assembly.assemble({
        context: {
          session: "desk",
          capsule: "atlas",
          model: exactModel,
          maxContextTokens,
          settings: {
            modelLimits: [{ model: exactModel, maxTokens: 2_000_000 }],
          },
          event: { content: [{ content: { $case: "text", value: { text: "And now?" } } }] },
          ...more,
        },
      }),
    );
  const answer = async (context: Assembled | undefined, size = turnWords) => {
    const number = ++turns;
    const { turn } = await quire.ledger.recordTurn({
      session: "desk",
      parentTurnId: head,
      messages: [user(`Question ${number}: ${words(size)}`), assistant(`Answer ${number}.`)],
      assemblyId: context?.resolved.assemblyId ?? "",
    });
    head = turn!.id;
  };
  return { ...opened, clock, assemble, answer, words };
}

async function editAgent(quire: Quire, corePrompt: string): Promise<void> {
  const persona = { corePrompt, knobs: { intelligenceLevel: 9 }, model: { model: exactModel } };
  await quire.capsules.putCapsule({ name: "atlas", body: { persona } });
}

/** An event and a tool whose sizes go up and down by up to 30 % from turn to turn. */
function swinging(turn: number, words: (count: number) => string): PartialContext {
  const swing = 1 + 0.3 * Math.sin(turn * 2.3);
  const text = words(Math.round(400 * swing));
  return {
    event: { content: [{ content: { $case: "text", value: { text } } }] },
    tools: [{ name: "search", description: words(Math.round(200 * (2 - swing))) }],
  };
}

describe("the cut of a session that is assembled for several windows", () => {
  test("each window keeps its own between its compactions, and the largest shows every original turn", async () => {
    const { quire, assemble, answer, words } = await deskOf(350);
    const windows = [8_000, 64_000, 1_000_000];
    const before = new Map<number, Assembled>();
    const moves = new Map(windows.map((window) => [window, 0]));
    for (let turn = 0; turn < 200; turn++) {
      const window = windows[turn % windows.length]!;
      const context = await assemble(window, swinging(turn, words));
      const last = before.get(window);
      expect(context.completed.budget!.used!.total).toBeLessThanOrEqual(context.completed.budget!.available);
      expect(context.layer.droppedTurns).toBe(0);
      if (last && context.layer.compactionId === last.layer.compactionId)
        expect(bytesOf(context.history).startsWith(bytesOf(last.history)), `turn ${turn}`).toBe(true);
      else if (last) {
        moves.set(window, moves.get(window)! + 1);
        expect(context.finished ?? context.layer.compactionId, `turn ${turn} at ${window}`).toBeTruthy();
      }
      if (window === 1_000_000)
        expect(context.layer).toMatchObject({ compactionId: "", turns: turn, droppedTurns: 0 });
      before.set(window, context);
      await answer(context);
    }
    expect(moves.get(1_000_000)).toBe(0);
    // The 8k window is filled several times, each compaction makes room for many turns.
    expect(moves.get(8_000)).toBeGreaterThan(5);
    expect(moves.get(8_000)).toBeLessThan(45);
    expect(moves.get(64_000)).toBe(1);
    const { threadSize } = await quire.ledger.getSession({ session: "desk" });
    const full = await view(quire, { session: "desk" }, HistoryView.FULL);
    expect(threadSize).toMatchObject({ turns: 200, messages: full.messages.length });
    const sum = full.messages.reduce(
      (all, message) => all + message.o200kTokens + message.contextO200kTokens + 4,
      0,
    );
    expect(threadSize!.tokens).toBe(sum);
    expect(threadSize!.contextTokens).toBeGreaterThan(0);
  });

  test("no cut flips back and forth: with a cold cache, a system prompt that changes each time, or both", async () => {
    for (const kind of ["cold", "rewritten", "both"]) {
      const { quire, clock, assemble, answer, words } = await deskOf(90);
      const seen: string[] = [];
      for (let turn = 0; turn < 90; turn++) {
        if (kind !== "rewritten") clock.ms += 2 * hourMs;
        if (kind !== "cold") await editAgent(quire, `You are Atlas, edition ${turn}.`);
        const context = await assemble(4_000, swinging(turn, words));
        if (seen.at(-1) !== context.layer.compactionId) seen.push(context.layer.compactionId);
        await answer(context);
      }
      expect(seen.length, kind).toBeGreaterThan(2);
      expect(new Set(seen).size, kind).toBe(seen.length);
    }
  });

  test("a window that none of its contexts was answered for takes no cut of a much smaller one, and makes its own once", async () => {
    const { quire, assemble, answer } = await deskOf(350);
    for (let turn = 0; turn < 60; turn++) await answer(undefined);
    const small = await assemble(2_000);
    const middle = await assemble(12_000);
    expect(middle.layer.compactionId).not.toBe(small.layer.compactionId);
    expect(middle.layer.tokens).toBeGreaterThan(4_000);
    expect((await assemble(12_000)).layer.cutId).toBe(middle.layer.cutId);
    expect((await assemble(2_000)).layer.cutId).toBe(small.layer.cutId);
    expect(await compactionsOf(quire, "desk")).toHaveLength(2);
    expect((await assemble(1_000_000)).layer).toMatchObject({ compactionId: "", turns: 60 });
  });

  test("a compaction by hand is for the windows that show more, too, where a small one has folded as much already", async () => {
    const { quire, assemble, answer } = await deskOf(350);
    for (let turn = 0; turn < 30; turn++) await answer(undefined);
    await assemble(2_000);
    const instructions = "Keep the number 17.";
    const { compaction } = await quire.ledger.compact({ session: "desk", instructions, keepTurns: 1 });
    expect(compaction).toMatchObject({ instructions, summarizedTurns: 29 });
    expect((await assemble(1_000_000)).layer.compactionId).toBe(compaction!.id);
    await expect(quire.ledger.compact({ session: "desk", keepTurns: 1 })).rejects.toMatchObject({
      reason: "NOTHING_TO_COMPACT",
    });
  });

  test("a larger window sees the original turns again, and the smaller one goes on where it was", async () => {
    const { assemble, answer } = await deskOf(90);
    let small: Assembled | undefined;
    for (let turn = 0; turn < 45; turn++) {
      small = await assemble(3_000);
      await answer(small);
    }
    const again = await assemble(3_000);
    expect(again.layer.compactionId).not.toBe("");
    expect((await assemble(100_000)).layer).toMatchObject({ compactionId: "", turns: 45 });
    expect((await assemble(3_000)).layer.cutId).toBe(again.layer.cutId);
  });

  test("a limit is the same limit, whoever asks for it: request, session or capsule", async () => {
    const { quire, engine, assemble, answer } = await deskOf(90);
    const limit = 3_000;
    const body = { persona: { corePrompt: "You are Atlas." }, maxContextTokens: limit };
    await quire.capsules.putCapsule({ name: "atlas", body });
    const unnamed = { maxContextTokens: undefined };
    const remember = (maxContextTokens: number) =>
      quire.ledger.updateSession({ session: "desk", defaults: { maxContextTokens } });
    const askers = [
      () => assemble(limit),
      () => remember(limit).then(() => assemble(limit, unnamed)),
      // 0 forgets it, so the capsule's holds.
      () => remember(0).then(() => assemble(limit, unnamed)),
    ];
    const cuts = new Set<string>();
    for (let turn = 0; turn < 45; turn++) {
      const [first, ...others] = [await askers[0]!(), await askers[1]!(), await askers[2]!()];
      for (const { layer, history } of others) {
        expect(layer.cutId, `turn ${turn}`).toBe(first!.layer.cutId);
        expect(bytesOf(history)).toEqual(bytesOf(first!.history));
      }
      cuts.add(first!.layer.compactionId);
      await answer([first, ...others][turn % askers.length]);
      const pins = await engine.database.reader.contextPin.findMany();
      expect(pins).toMatchObject([{ limitTokens: limit }]);
    }
    expect(cuts.size).toBeGreaterThan(2);
  });

  test("a compaction by hand binds every window, and the EFFECTIVE view", async () => {
    const { quire, assemble, answer } = await deskOf(90);
    for (let turn = 0; turn < 20; turn++) await answer(turn % 2 === 0 ? await assemble(100_000) : undefined);
    const large = await assemble(100_000);
    await answer(large);
    const { compaction } = await quire.ledger.compact({ session: "desk", keepTurns: 4 });
    for (const window of [100_000, 1_000_000])
      expect((await assemble(window)).layer).toMatchObject({ compactionId: compaction!.id, turns: 4 });
    expect((await view(quire, { session: "desk" }, HistoryView.EFFECTIVE)).thread.compactionId).toBe(
      compaction!.id,
    );
    const asBefore = { session: "desk" };
    const { assemblyId } = large.resolved;
    const messages = [];
    for await (const batch of quire.ledger.streamHistory({
      thread: { $case: "session", value: asBefore.session },
      view: HistoryView.EFFECTIVE,
      assemblyId,
    }))
      messages.push(...batch.messages);
    expect(messages).toHaveLength(42);
    await expect(
      quire.ledger
        .streamHistory({
          thread: { $case: "session", value: "desk" },
          view: HistoryView.EFFECTIVE,
          assemblyId: "none",
        })
        [Symbol.asyncIterator]()
        .next(),
    ).rejects.toMatchObject({ reason: "RECEIPT_NOT_FOUND" });
  });

  test("compaction starts when the room is used: nothing is kept free for memory that does not exist", async () => {
    const { assemble, answer, quire } = await deskOf(90);
    let fullest = 0;
    while ((await compactionsOf(quire, "desk")).length === 0) {
      const context = await assemble(8_000);
      const { used, available } = context.completed.budget!;
      if (context.layer.compactionId === "") fullest = Math.max(fullest, used!.total / available);
      await answer(context);
    }
    expect(fullest).toBeGreaterThan(0.95);
  });
});

describe("a session whose turns name no assembly", () => {
  test("keeps its cut all the same", async () => {
    const { quire } = await openedEngine();
    let head = await longSession(quire, "plain", 1);
    const seen: string[] = [];
    for (let turn = 2; turn <= 60; turn++) {
      head = await growSession(quire, "plain", [turn, turn], head, plainTurn);
      const { layer } = await assembled(
        quire.assembly.assemble({
          context: contextRequest("plain", exactModel, { maxContextTokens: 1_500 }),
        }),
      );
      if (seen.at(-1) !== layer.compactionId) seen.push(layer.compactionId);
    }
    expect(seen.length).toBeGreaterThan(3);
    expect(new Set(seen).size).toBe(seen.length);
  });
});
