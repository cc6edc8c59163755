import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { HistoryReplay } from "../../src/contract/gen/quire/v1/assembly.js";
import { contextRequest, estimatedModel, exactModel, type PartialContext, putAgent } from "./agent.js";
import { openTestQuire, type TestQuire } from "./engine.js";
import { type FoldedContext, fold } from "./fold.js";
import {
  assembleByRules,
  checkDelta,
  checkReplay,
  contextBytes,
  FloorCounts,
  tokensBesideHistory,
} from "./keep-rules.js";
import { type RandomThread, writeRandomThread } from "./random-thread.js";

const runs = { numRuns: 60, seed: 20_260_115, endOnFailure: true };
const floors = new FloorCounts();
let tooLarge = 0;
let quire: TestQuire;

async function openWithAgent(): Promise<TestQuire> {
  const opened = await openTestQuire();
  await putAgent(opened);
  return opened;
}

beforeAll(async () => {
  quire = await openWithAgent();
});

afterAll(async () => {
  console.log(`random sessions: ${floors}; what is open did not fit ${tooLarge} times`);
  await quire.close();
});

/** What a request may ask for. */
const asked = fc.record({
  seed: fc.noBias(fc.integer({ min: 0, max: 1_000_000_000 })),
  budget: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.constantFrom(1_000, 2_000, 4_000, 8_000, 32_000)),
  model: fc.constantFrom(exactModel, estimatedModel),
  replay: fc.constantFrom(HistoryReplay.AS_SENT, HistoryReplay.CLEAN),
  keepTurns: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
  maxMessages: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined, freq: 4 }),
  withActive: fc.boolean(),
});
type Asked = typeof asked extends fc.Arbitrary<infer Value> ? Value : never;

/** The request, and the thread that it is about. */
async function prepare(
  engine: TestQuire,
  threads: Map<number, RandomThread>,
  { seed, budget, model, replay, keepTurns, maxMessages, withActive }: Asked,
) {
  const thread = threads.get(seed) ?? (await writeRandomThread(engine, seed));
  threads.set(seed, thread);
  const active = withActive ? thread.active : undefined;
  const request = contextRequest(thread.session, model, {
    replay,
    activeTurnId: active?.id ?? "",
    settings: { keepTurns, maxMessages },
  });
  const beside = await tokensBesideHistory(engine, {
    ...request,
    activeTurnId: "",
    settings: { ...request.settings, maxMessages: undefined },
  });
  const spoken = active && active.spoken.length > 0 ? [active] : [];
  return { context: { ...request, maxContextTokens: beside + budget }, thread: [...thread.turns, ...spoken] };
}

/** Whether the thread ends with what cannot be left out: an open turn, or calls that wait for an answer. */
async function isOpenAtEnd({ session, activeTurnId }: PartialContext): Promise<boolean> {
  if (activeTurnId) return true;
  const { turns } = await quire.ledger.listTurns({ session: session!, pageSize: 1 });
  return turns[0]!.openItems.length > 0;
}

describe("every context of a random session", () => {
  test("is within its budget, keeps pairs and leaves no hole, says what gave way, and can be replayed", async () => {
    const threads = new Map<number, RandomThread>();
    await fc.assert(
      fc.asyncProperty(asked, async (given) => {
        const { context, thread } = await prepare(quire, threads, given);
        const folded = await assembleByRules(quire, context, thread);
        if (!folded) {
          tooLarge++;
          expect(await isOpenAtEnd(context)).toBe(true);
          return;
        }
        floors.add(folded);
        await checkReplay(quire, folded);
        await checkDelta(quire, context, folded);
      }),
      runs,
    );
  });

  test("is whole when it is put onto the one before, however the thread went on", async () => {
    let reused = 0;
    await fc.assert(
      fc.asyncProperty(asked, async ({ seed, budget, replay }) => {
        let held: FoldedContext | undefined;
        await writeRandomThread(quire, -1 - seed, async (session) => {
          const context = contextRequest(session, exactModel, { replay, maxContextTokens: budget + 4_000 });
          if (held) {
            const folded = await checkDelta(quire, context, held);
            if (folded.sentMessages < folded.history.length) reused++;
          }
          held = await fold(quire.assembly.assemble({ context }));
        });
      }),
      { ...runs, numRuns: 20 },
    );
    expect(reused).toBeGreaterThan(20);
  });

  test("is the same, byte for byte, in another engine with the same clock", async () => {
    const engines = await Promise.all([openWithAgent(), openWithAgent()]);
    onTestFinished(async () => {
      await Promise.all(engines.map((engine) => engine.close()));
    });
    const threads = engines.map(() => new Map<number, RandomThread>());
    await fc.assert(
      fc.asyncProperty(asked, async (given) => {
        const [first, second] = await Promise.all(
          engines.map(async (engine, at) => {
            const { context } = await prepare(engine, threads[at]!, {
              ...given,
              budget: given.budget + 32_000,
              maxMessages: undefined,
            });
            return contextBytes(engine, context);
          }),
        );
        expect(second).toBe(first);
      }),
      { ...runs, numRuns: 30 },
    );
  });
});
