import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FloorKind } from "../../src/contract/gen/quire/v1/compaction.js";
import { contextRequest, estimatedModel, exactModel, putAgent } from "./agent.js";
import type { WrittenTurn } from "./check-context.js";
import { openTestQuire, type TestQuire } from "./engine.js";
import type { FoldedContext } from "./fold.js";
import { checkBodies, heavySize, messagesOf } from "./heavy-turns.js";
import { assembleByRules, checkDelta, checkReplay, contextBytes, FloorCounts } from "./keep-rules.js";

const floors = new FloorCounts();
let quire: TestQuire;
let sessions = 0;
beforeAll(async () => {
  quire = await openTestQuire();
  await putAgent(quire);
});
afterAll(async () => {
  console.log(`sessions with heavy tails: ${floors}`);
  await quire?.close();
});

const size = fc.noBias(fc.integer({ min: 0, max: 9_999 })).map((share) => heavySize(share / 10_000));
const calls = fc.record({ argument: size, result: size });
const step = fc.record({
  thought: fc.option(size, { freq: 2 }),
  said: fc.option(size),
  calls: fc.array(calls, { minLength: 1, maxLength: 4 }),
});
const turn = fc.record({
  asked: size,
  steps: fc.array(step, { maxLength: 4 }),
  answer: fc.option(size, { freq: 4 }),
});
const session = fc.record({
  turns: fc.array(turn, { minLength: 2, maxLength: 7 }),
  budget: fc.constantFrom(700, 1_200, 3_000, 9_000),
  model: fc.constantFrom(exactModel, estimatedModel),
});

const gone: readonly FloorKind[] = [FloorKind.NO_TURN_FITS, FloorKind.SUMMARY_LEFT_OUT];

test("sessions whose sizes have a heavy tail keep summary and newest turn, within budget and valid for every provider, and replay byte for byte", async () => {
  await fc.assert(
    fc.asyncProperty(session, async ({ turns, budget, model }) => {
      const label = `heavy-${++sessions}`;
      await quire.ledger.createSession({ label });
      const written: WrittenTurn[] = [];
      let before: FoldedContext | undefined;
      for (const given of turns) {
        const context = contextRequest(label, model, { maxContextTokens: budget });
        const folded = (await assembleByRules(quire, context, written))!;
        floors.add(folded);
        checkBodies(folded);
        await checkReplay(quire, folded);
        const { layer, completed } = folded;
        expect(completed.floors.filter(({ kind }) => gone.includes(kind))).toEqual([]);
        if (written.length > 0) expect(layer.turns).toBeGreaterThan(0);
        expect(await contextBytes(quire, context)).toBe(await contextBytes(quire, context));
        if (before) await checkDelta(quire, context, before);
        const { turn: recorded } = await quire.ledger.recordTurn({
          session: label,
          messages: messagesOf(given),
          assemblyId: completed.assemblyId!,
        });
        const { messageCount, id } = recorded!;
        written.push({ id, spoken: Array.from({ length: messageCount }, (_, index) => index) });
        before = folded;
      }
    }),
    { numRuns: 25, seed: 20_260_117, endOnFailure: true },
  );
});
