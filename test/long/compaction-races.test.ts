import { setImmediate as tick } from "node:timers/promises";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { CompressionStrategy } from "../../src/contract/gen/quire/v1/context_settings.js";
import type { Quire } from "../../src/index.js";
import { bothDatabases } from "../assembly/both-databases.js";
import {
  assembled,
  compactionsOf,
  growSession,
  longSession,
  plainTurn,
  textOf,
  tightContext,
  wholeThread,
} from "../assembly/long-session.js";
import { openedEngine } from "../assembly/opened-engine.js";
import { checkNothingLeft, findImpossibleRows } from "../model/check-tables.js";
import { Random } from "../model/random.js";
import { checkStreamed } from "../model/streamed.js";
import { gate } from "../support/gate.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { startModelServer } from "../support/model-server.js";
import { startPostgres } from "../support/postgres.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const seed = 20261116;
/** The room for one turn and a summary: every further turn is one too many. */
const oneTurnRoom = 180;

async function settled(quire: Quire, session: string, turns: number) {
  const streamed = await wholeThread(quire, session);
  expect(checkStreamed(streamed)).toEqual([]);
  const questions = streamed.messages.map(textOf).filter((text) => text.startsWith("Question"));
  expect(questions.map((text) => Number(/\d+/.exec(text)![0]))).toEqual(
    Array.from({ length: turns }, (_, index) => index + 1),
  );
}

/** Some turns of the event loop, so that the two sides of a race meet differently each time. */
async function lag(random: Random): Promise<void> {
  for (let left = random.below(12); left > 0; left--) await tick();
}

describe.each(bothDatabases(postgres))("on $name", ({ isMissing, open }) => {
  const test = it.skipIf(isMissing);

  test("a writer is never disturbed by Compact, 400 times", async () => {
    const { quire, engine } = await open();
    const random = new Random(seed);
    let head = await longSession(quire, "race", 2);
    for (let round = 1; round <= 400; round++) {
      const [before, meanwhile] = [2 * round + 1, 2 * round + 2];
      const parentTurnId = await growSession(quire, "race", [before, before], head);
      const compressionStrategy =
        round % 8 === 0 ? CompressionStrategy.SUMMARY : CompressionStrategy.TRUNCATE;
      const [recorded, { compaction }] = await Promise.all([
        lag(random).then(() =>
          quire.ledger.recordTurn({ session: "race", parentTurnId, messages: plainTurn(meanwhile) }),
        ),
        lag(random).then(() => quire.ledger.compact({ session: "race", keepTurns: 1, compressionStrategy })),
      ]);
      expect(recorded).toMatchObject({ branched: false, headTurnId: recorded.turn!.id });
      expect([before, meanwhile]).toContain(compaction!.depth);
      head = recorded.turn!.id;
    }
    await settled(quire, "race", 802);
    expect(await compactionsOf(quire, "race")).toHaveLength(400);
    expect(await findImpossibleRows(engine.database)).toEqual([]);
  });

  test("a writer is never disturbed by the compaction of an assembly, 300 times", async () => {
    const { quire, engine } = await open();
    const random = new Random(seed + 1);
    let head = await longSession(quire, "race", 3);
    const context = tightContext("race", oneTurnRoom, { keepTurns: 1, softThreshold: 1 });
    for (let round = 4; round <= 303; round++) {
      const [recorded, { finished, layer }] = await Promise.all([
        lag(random).then(() =>
          quire.ledger.recordTurn({ session: "race", parentTurnId: head, messages: plainTurn(round) }),
        ),
        lag(random).then(() => assembled(quire.assembly.assemble({ context }))),
      ]);
      expect(recorded).toMatchObject({ branched: false, headTurnId: recorded.turn!.id });
      expect(layer.compactionId).toBe(finished?.id ?? layer.compactionId);
      head = recorded.turn!.id;
    }
    await settled(quire, "race", 303);
    expect((await compactionsOf(quire, "race")).length).toBeGreaterThan(200);
    expect(await findImpossibleRows(engine.database)).toEqual([]);
  });

  test("a writer is never disturbed by a compaction in the background, 300 times", async () => {
    const { quire, engine } = await open();
    const random = new Random(seed + 2);
    let head = await longSession(quire, "race", 2);
    const context = tightContext("race", 3 * oneTurnRoom, { keepTurns: 1, softThreshold: 0.7 });
    let prepared = 0;
    for (let round = 0; round < 150; round++) {
      const { resolved, finished } = await assembled(quire.assembly.assemble({ context }));
      if (finished?.trigger === "COMPACTION_TRIGGER_BACKGROUND") prepared++;
      // The first of the two turns answers the context and begins a preparation, and the second is written while it is made.
      const first = 3 + 2 * round;
      for (const turn of [first, first + 1]) {
        await lag(random);
        const recorded = await quire.ledger.recordTurn({
          session: "race",
          parentTurnId: head,
          messages: plainTurn(turn),
          ...(turn === first ? { assemblyId: resolved.assemblyId } : {}),
        });
        expect(recorded).toMatchObject({ branched: false, headTurnId: recorded.turn!.id });
        head = recorded.turn!.id;
      }
    }
    await engine.assembly.compactor.idle();
    await settled(quire, "race", 302);
    expect(prepared).toBeGreaterThan(20);
    expect(await findImpossibleRows(engine.database)).toEqual([]);
  });

  test("a session that is erased while it is compacted leaves nothing behind, 30 times", async () => {
    const { quire, engine } = await open();
    const random = new Random(seed + 3);
    for (let round = 0; round < 30; round++) {
      const head = await longSession(quire, `gone-${round}`, 6);
      const isForked = round % 2 === 0;
      if (isForked) {
        const at = { $case: "turnId" as const, value: head };
        await quire.ledger.forkSession({ label: `fork-${round}`, at });
      }
      const context = tightContext(`gone-${round}`, oneTurnRoom, { keepTurns: 1 });
      const session = `gone-${round}`;
      const outcomes = await Promise.allSettled([
        lag(random).then(() =>
          quire.ledger.compact({
            session,
            requestId: `compact ${round}`,
            compressionStrategy: CompressionStrategy.TRUNCATE,
          }),
        ),
        lag(random).then(() => assembled(quire.assembly.assemble({ context }))),
        lag(random)
          .then(() => lag(random))
          .then(() => quire.ledger.deleteSession({ session })),
      ]);
      expect(outcomes[2]!.status).toBe("fulfilled");
      for (const outcome of outcomes) {
        const reason = outcome.status === "rejected" ? (outcome.reason as { reason: string }).reason : "";
        expect(["", "SESSION_NOT_FOUND", "COMPACTION_OUTDATED", "NOTHING_TO_COMPACT"]).toContain(reason);
      }
      expect(await findImpossibleRows(engine.database)).toEqual([]);
      if (isForked) await quire.ledger.deleteSession({ session: `fork-${round}` });
    }
    await engine.assembly.compactor.idle();
    expect(await checkNothingLeft(engine.database)).toEqual([]);
  });

  /** A long open turn, whose assembly has to cut inside it. */
  async function openTurn(quire: Quire, session: string, head: string) {
    const { turn } = await quire.ledger.beginTurn({
      session,
      parentTurnId: head,
      messages: [user(`Question 4: ${"where is it ".repeat(20)}`)],
    });
    for (const step of ["look", "ask", "listen", "wait", "search", "rest"]) {
      const messages = [toolCalls(step), toolResults(step), ...thought(step)];
      await quire.ledger.appendMessages({ turnId: turn!.id, messages });
    }
    return turn!.id;
  }
  const thought = (step: string) => [
    assistant(`Step ${step}: ${"it may be here or there ".repeat(4)}`),
    user(`Go on with ${step}.`),
  ];

  test("a compaction that hangs off an open turn has its place, however the turn is completed meanwhile", async () => {
    const { quire, engine } = await open();
    const random = new Random(seed + 4);
    const placed: number[] = [];
    for (let round = 0; round < 20; round++) {
      const session = `loop-${round}`;
      const head = await longSession(quire, session, 3);
      const turnId = await openTurn(quire, session, head);
      const context = {
        ...tightContext(session, oneTurnRoom, { keepTurns: 1 }),
        activeTurnId: turnId,
        event: undefined,
      };
      await Promise.all([
        lag(random).then(() => assembled(quire.assembly.assemble({ context })).catch(() => undefined)),
        lag(random)
          .then(() => lag(random))
          .then(() => quire.ledger.completeTurn({ turnId, result: { messages: [assistant("Found it.")] } })),
      ]);
      for (const compaction of await compactionsOf(quire, session)) {
        if (compaction.anchorTurnId === turnId) placed.push(compaction.depth);
      }
      expect(await findImpossibleRows(engine.database)).toEqual([]);
    }
    expect(placed.length).toBeGreaterThan(0);
    expect(new Set(placed)).toEqual(new Set([4]));
  });

  test("a summary that comes after its open turn was completed has the place of that turn, and the next context begins with it", async () => {
    const [asked, released] = [gate(), gate()];
    const model = await startModelServer(async () => {
      asked.open();
      await released.passed;
      return { text: "They looked for it here and there." };
    });
    onTestFinished(() => model.close());
    const { quire, engine } = await open({
      summarizerOpenaiUrl: model.baseUrl("openai"),
      summarizerOpenaiModel: "gpt-small",
    });
    const turnId = await openTurn(quire, "loop", await longSession(quire, "loop", 3));
    const settings = { keepTurns: 1, summarizers: { names: ["openai"] }, softThreshold: 1 };
    const context = tightContext("loop", oneTurnRoom, settings);
    const inLoop = assembled(
      quire.assembly.assemble({ context: { ...context, activeTurnId: turnId, event: undefined } }),
    );
    await asked.passed;
    await quire.ledger.completeTurn({ turnId, result: { messages: [assistant("Found it.")] } });
    released.open();
    const { finished } = await inLoop;
    expect(finished).toMatchObject({ anchorTurnId: turnId, depth: 4 });
    const next = await assembled(quire.assembly.assemble({ context }));
    expect(next.layer.compactionId).toBe(finished!.id);
    expect(await findImpossibleRows(engine.database)).toEqual([]);
  });
});

describe.skipIf(postgres === undefined)("two engines over one PostgreSQL", () => {
  it("let one write turns while the other compacts, 100 times", async () => {
    const database = await postgres!.createDatabase();
    const [one, other] = [await openedEngine({ database }), await openedEngine({ database })];
    const random = new Random(seed + 5);
    let head = await longSession(one.quire, "race", 2);
    for (let round = 1; round <= 100; round++) {
      const [before, meanwhile] = [2 * round + 1, 2 * round + 2];
      const parent = await growSession(one.quire, "race", [before, before], head);
      const [grown] = await Promise.all([
        lag(random).then(() => growSession(one.quire, "race", [meanwhile, meanwhile], parent)),
        lag(random).then(() =>
          other.quire.ledger.compact({
            session: "race",
            keepTurns: 1,
            compressionStrategy: CompressionStrategy.TRUNCATE,
          }),
        ),
      ]);
      head = grown!;
    }
    await settled(other.quire, "race", 202);
    expect(await findImpossibleRows(one.engine.database)).toEqual([]);
  });
});
