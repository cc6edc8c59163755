import { describe, expect, it, onTestFinished } from "vitest";
import { HistoryReplay } from "../../../src/contract/gen/quire/v1/assembly.js";
import type { CompactionTurn } from "../../../src/contract/gen/quire/v1/compaction.js";
import type { ContextSettings } from "../../../src/contract/gen/quire/v1/context_settings.js";
import type { DeepPartial } from "../../../src/contract/gen/quire/v1/message.js";
import { viewCompaction } from "../../../src/ledger/view-compaction.js";
import { messageTokens } from "../../assembly/check-context.js";
import { testNow } from "../../assembly/engine.js";
import { bytesOf } from "../../assembly/fold.js";
import {
  assembled,
  compactionsOf,
  growSession,
  longSession,
  plainTurn,
  tightContext,
} from "../../assembly/long-session.js";
import { type Flags, openedEngine, servedEngine } from "../../assembly/opened-engine.js";
import { gate } from "../../support/gate.js";
import { type ModelScript, startModelServer } from "../../support/model-server.js";

const roomTokens = 1_000;
/** 60 % of the room: what history is compacted to. */
const targetTokens = 600;
/** How long the catalogue says that what was sent to gpt-4o is kept. */
const cacheMs = 300_000;
const turnTokens = plainTurn(1).reduce((sum, message) => sum + messageTokens(message), 0);
/** The last turn that history has room for. */
const lastFitting = Math.floor(roomTokens / turnTokens);
/** The first turn at which 85 % of the room are reached. */
const firstSoft = Math.ceil((roomTokens * 0.85) / turnTokens);

/** An engine with a clock that is set by hand, and a model that makes summaries. */
async function clocked(script: ModelScript = () => ({ text: "They looked for a parcel." })) {
  const model = await startModelServer(script);
  onTestFinished(() => model.close());
  const clock = { ms: testNow, now: () => clock.ms };
  const flags: Flags = {
    summarizerOpenaiUrl: model.baseUrl("openai"),
    summarizerOpenaiModel: "gpt-small",
  };
  const opened = await openedEngine(flags, { clock });
  const { quire, engine } = opened;
  /** Everything in the table: what is prepared is shown nowhere else. */
  const written = async (): Promise<CompactionTurn[]> => {
    const rows = await engine.database.reader.compaction.findMany({ orderBy: { id: "asc" } });
    return rows.map((row) => viewCompaction(row) as CompactionTurn);
  };
  const assemble = (session: string, settings: DeepPartial<ContextSettings> = {}) => {
    // Without what was sent with the turns: they are as large as they are said to be.
    const replay = HistoryReplay.CLEAN;
    const limits = { summarizers: { names: ["openai"] }, ...settings };
    const context = { ...tightContext(session, roomTokens, limits), replay };
    return assembled(quire.assembly.assemble({ context }));
  };
  const idle = () => engine.assembly.compactor.idle();
  return { ...opened, model, flags, clock, written, assemble, idle };
}

/** A session that has been assembled once, and has grown to so many turns since. */
async function grown(desk: Awaited<ReturnType<typeof clocked>>, turns: number) {
  const first = await longSession(desk.quire, "soft", 2);
  const { assemblyId } = (await desk.assemble("soft")).resolved;
  const head = await growSession(desk.quire, "soft", [3, turns], first, plainTurn, assemblyId);
  await desk.idle();
  return head;
}

describe("a compaction in advance", () => {
  it("is prepared when a turn passes the soft threshold, and is not in force", async () => {
    const desk = await clocked();
    const head = await grown(desk, firstSoft - 1);
    expect(await desk.written()).toEqual([]);
    const before = await desk.assemble("soft");
    const next = await growSession(desk.quire, "soft", [firstSoft, firstSoft], head);
    await desk.idle();
    const [prepared, ...others] = await desk.written();
    expect(others).toEqual([]);
    expect(prepared).toMatchObject({
      trigger: "COMPACTION_TRIGGER_BACKGROUND",
      anchorTurnId: next,
      summarizer: "openai",
      applyTime: undefined,
    });
    const after = await desk.assemble("soft");
    expect(after.notices).toEqual([]);
    expect(after.layer).toMatchObject({ compactionId: "", turns: firstSoft, droppedTurns: 0 });
    expect(bytesOf(after.history).startsWith(bytesOf(before.history))).toBe(true);
    expect(await compactionsOf(desk.quire, "soft")).toEqual([]);
  });

  it("is swapped in when it is needed: nobody is asked, and history is on target", async () => {
    const desk = await clocked();
    const head = await grown(desk, lastFitting);
    const [prepared] = await desk.written();
    expect((await desk.assemble("soft")).notices).toEqual([]);
    await growSession(desk.quire, "soft", [lastFitting + 1, lastFitting + 1], head);
    desk.clock.ms += 1_000;
    const needed = await desk.assemble("soft");
    expect(needed.notices.map((notice) => notice.$case)).toEqual(["finished"]);
    expect(needed.finished).toEqual({ ...prepared, applyTime: new Date(desk.clock.ms) });
    expect(needed.layer).toMatchObject({ compactionId: prepared!.id, droppedTurns: 0 });
    expect(needed.layer.tokens).toBeLessThanOrEqual(targetTokens + turnTokens);
    expect(desk.model.requests).toHaveLength(1);
    expect(await compactionsOf(desk.quire, "soft")).toEqual([needed.finished]);
  });

  it("is prepared once, however many turns come while it is made", async () => {
    const released = gate();
    const desk = await clocked(async () => {
      await released.passed;
      return { text: "They looked for a parcel." };
    });
    const first = await longSession(desk.quire, "soft", 2);
    const { assemblyId } = (await desk.assemble("soft")).resolved;
    const head = await growSession(desk.quire, "soft", [3, lastFitting + 1], first, plainTurn, assemblyId);
    const needed = desk.assemble("soft");
    released.open();
    expect((await needed).finished).toMatchObject({ trigger: "COMPACTION_TRIGGER_BACKGROUND" });
    await growSession(desk.quire, "soft", [lastFitting + 2, lastFitting + 2], head);
    await desk.idle();
    expect(await desk.written()).toHaveLength(1);
    expect(desk.model.requests).toHaveLength(1);
  });

  it("is off with a soft threshold of 1", async () => {
    const desk = await clocked();
    const first = await longSession(desk.quire, "soft", 2);
    const { assemblyId } = (await desk.assemble("soft", { softThreshold: 1 })).resolved;
    await growSession(desk.quire, "soft", [3, lastFitting], first, plainTurn, assemblyId);
    await desk.idle();
    desk.clock.ms += 2 * cacheMs;
    expect((await desk.assemble("soft", { softThreshold: 1 })).notices).toEqual([]);
    expect(await desk.written()).toEqual([]);
    expect(desk.model.requests).toEqual([]);
  });

  it("that fails leaves history as it was, and the assembly that needs one makes it", async () => {
    let isBroken = true;
    const desk = await clocked(() => (isBroken ? { status: 400 } : { text: "They looked for a parcel." }));
    const head = await grown(desk, lastFitting);
    expect(await desk.written()).toEqual([]);
    isBroken = false;
    await desk.quire.ledger.recordTurn({ session: "soft", parentTurnId: head, messages: plainTurn(99) });
    const { finished, layer } = await desk.assemble("soft");
    expect(layer.compactionId).toBe(finished!.id);
    await desk.idle();
    expect(await desk.written()).toHaveLength(1);
  });
});

describe("a cut that fits", () => {
  it("stays, however near its limit history is and however cold the cache", async () => {
    const desk = await clocked();
    await grown(desk, lastFitting);
    for (let hour = 0; hour < 3; hour++) {
      desk.clock.ms += 12 * cacheMs;
      const { notices, layer } = await desk.assemble("soft");
      expect(notices).toEqual([]);
      expect(layer).toMatchObject({ compactionId: "", turns: lastFitting });
    }
  });
});

describe("what a session wanted of its history", () => {
  it("is read from the receipt of its newest context: a server that was just started prepares, too", async () => {
    const desk = await clocked();
    const head = await grown(desk, firstSoft - 1);
    expect(await desk.written()).toEqual([]);
    const other = await openedEngine(
      { ...desk.flags, database: desk.config.database },
      { clock: desk.clock },
    );
    await growSession(other.quire, "soft", [firstSoft, firstSoft], head);
    await other.engine.assembly.compactor.idle();
    expect(await desk.written()).toMatchObject([
      { trigger: "COMPACTION_TRIGGER_BACKGROUND", summarizer: "openai", applyTime: undefined },
    ]);
  });
});

describe("the cut", () => {
  it("moves only by compaction: over 200 turns each context goes on where the one before ended", async () => {
    const desk = await clocked();
    let head = await longSession(desk.quire, "soft", 1);
    let before = await desk.assemble("soft", { summarizers: { names: ["extractive"] } });
    let moved = 0;
    for (let turn = 2; turn <= 200; turn++) {
      head = await growSession(desk.quire, "soft", [turn, turn], head);
      desk.clock.ms += 20_000;
      const after = await desk.assemble("soft", { summarizers: { names: ["extractive"] } });
      expect(after.layer.droppedTurns).toBe(0);
      expect(after.layer.turns + after.layer.summarizedTurns).toBe(turn);
      if (after.finished) moved++;
      else expect(bytesOf(after.history).startsWith(bytesOf(before.history)), `turn ${turn}`).toBe(true);
      before = after;
    }
    const compactions = await compactionsOf(desk.quire, "soft");
    expect(compactions).toHaveLength(moved);
    // Each makes room for several turns: 40 % of the room, less what the last of them is over.
    expect(moved).toBeLessThanOrEqual(Math.ceil(200 / Math.floor((roomTokens - targetTokens) / turnTokens)));
    expect(moved).toBeGreaterThan(10);
  });
});

describe("closing", () => {
  it("does not wait for a model that hangs in the background", async () => {
    const asked = gate();
    const model = await startModelServer(() => {
      asked.open();
      return { hang: "before headers" };
    });
    onTestFinished(() => model.close());
    const served = await servedEngine({
      summarizerOpenaiUrl: model.baseUrl("openai"),
      summarizerOpenaiModel: "gpt-small",
    });
    const first = await longSession(served.quire, "soft", 2);
    const context = tightContext("soft", roomTokens, { summarizers: { names: ["openai"] } });
    const { assemblyId } = (await assembled(served.assemble(context))).resolved;
    await growSession(served.quire, "soft", [3, lastFitting], first, plainTurn, assemblyId);
    await asked.passed;
    const rows = () => served.engine.database.sqlReader.query("SELECT id FROM compactions", []);
    expect(await rows()).toEqual([]);
    await served.close();
    await expect(rows()).rejects.toThrow();
  });
});
