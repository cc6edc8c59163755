import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CutLimits, chooseCut as chooseCutOf, type WeighedTurn } from "../../src/thread/window-cut.js";
import { Random } from "../model/random.js";
import type { Plain } from "../support/plain.js";

const noCap = Number.POSITIVE_INFINITY;

function chooseCut(turns: readonly WeighedTurn[], limits: Plain<CutLimits>, wholeThread: boolean) {
  return chooseCutOf(turns, limits as CutLimits, wholeThread);
}

function turn(depth: number, tokens = 100, more: Partial<Plain<WeighedTurn>> = {}): WeighedTurn {
  return { depth, tokens, messages: 2, startsClean: true, ...more } as WeighedTurn;
}

/** A thread of so many turns, newest first. */
function thread(count: number, tokensOf: (depth: number) => number = () => 100): WeighedTurn[] {
  return Array.from({ length: count }, (_, index) => turn(count - index, tokensOf(count - index)));
}

function tokensOf(turns: readonly WeighedTurn[], cut: number | undefined): number {
  return turns.slice(0, cut === undefined ? 0 : cut + 1).reduce((sum, { tokens }) => sum + tokens, 0);
}

describe("cut", () => {
  test("keeps a thread whole that fits", () => {
    expect(chooseCut(thread(10), { tokens: 1_000, messages: noCap }, true)).toBe(9);
    expect(chooseCut(thread(10), { tokens: 999, messages: noCap }, true)).toBeLessThan(9);
  });

  test("takes nothing when the newest turn does not fit", () => {
    expect(chooseCut([turn(3, 500), turn(2)], { tokens: 499, messages: noCap }, false)).toBeUndefined();
    expect(chooseCut([], { tokens: 499, messages: noCap }, true)).toBeUndefined();
  });

  test("never begins with a turn that answers the one before", () => {
    const turns = [
      turn(4, 100, { startsClean: false }),
      turn(3),
      turn(2, 100, { startsClean: false }),
      turn(1, 900),
    ];
    expect(chooseCut(turns, { tokens: 350, messages: noCap }, true)).toBe(1);
    expect(chooseCut(turns, { tokens: 150, messages: noCap }, true)).toBeUndefined();
  });

  test("obeys the cap on messages as it obeys the room in tokens", () => {
    const cut = chooseCut(thread(50), { tokens: 1_000_000, messages: 20 }, true)!;
    expect((cut + 1) * 2).toBeLessThanOrEqual(20);
    expect((cut + 1) * 2).toBeGreaterThanOrEqual(10);
  });

  test("is never above its room, and at least half full where turns are small", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 200 }),
        fc.integer({ min: 400, max: 8_000 }),
        (sizes, tokens) => {
          const turns = sizes.map((size, index) => turn(sizes.length - index, size));
          const used = tokensOf(turns, chooseCut(turns, { tokens, messages: noCap }, true));
          expect(used).toBeLessThanOrEqual(tokens);
          const all = sizes.reduce((sum, size) => sum + size, 0);
          expect(used).toBeGreaterThanOrEqual(Math.min(all, tokens / 2));
        },
      ),
      { seed: 1, numRuns: 200 },
    );
  });

  test("moves rarely as a thread grows by 2,000 turns of any size", () => {
    const random = new Random(7);
    const sizes = Array.from({ length: 2_001 }, () => 20 + random.below(400));
    let moves = 0;
    let before = 1;
    for (let length = 1; length <= 2_000; length++) {
      const turns = thread(length, (depth) => sizes[depth]!);
      // The room changes a little with the event of each turn.
      const cut = chooseCut(turns, { tokens: 8_000 - random.below(200), messages: noCap }, true)!;
      const first = turns[cut]!.depth;
      if (first !== before) moves++;
      before = first;
    }
    console.log(`the cut moved ${moves} times in 2,000 turns`);
    expect(moves).toBeLessThan(200);
  });
});
