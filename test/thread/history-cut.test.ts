import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { beginAlike, cutId, type HistoryCut, parseCutId } from "../../src/thread/history-cut.js";

const id = fc.uuid();
const cuts: fc.Arbitrary<HistoryCut> = fc.record({
  compactionId: fc.oneof(fc.constant(""), id),
  firstTurnId: fc.oneof(fc.constant(""), id),
  fittedId: fc.constantFrom("", "3-0", "0-2-1a2b3c4d"),
  wordsId: fc.constantFrom("", "0f0f0f0f"),
  clean: fc.boolean(),
  pending: fc.boolean(),
});
const runs = { seed: 20_261_117, numRuns: 1_000 };

describe("a cut", () => {
  test("is read back from its id as it was", () => {
    fc.assert(
      fc.property(cuts, (cut) => {
        fc.pre(cut.compactionId + cut.firstTurnId !== "");
        expect(parseCutId(cutId(cut))).toEqual(cut);
      }),
      runs,
    );
  });

  test("has an id of its own, unless it shows nothing", () => {
    fc.assert(
      fc.property(cuts, cuts, (a, b) => {
        fc.pre(a.compactionId + a.firstTurnId !== "" && b.compactionId + b.firstTurnId !== "");
        expect(cutId(a) === cutId(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
      runs,
    );
    const nothing = { ...parseCutId(""), clean: true, pending: true };
    expect(cutId(nothing)).toBe("");
  });

  test("begins as another does whatever is still open at its end", () => {
    fc.assert(
      fc.property(cuts, (cut) => {
        const [open, closed] = [cutId({ ...cut, pending: true }), cutId({ ...cut, pending: false })];
        expect(beginAlike(open, closed)).toBe(true);
        fc.pre(cut.compactionId + cut.firstTurnId !== "");
        expect(beginAlike(open, cutId({ ...cut, clean: !cut.clean }))).toBe(false);
      }),
      runs,
    );
  });
});
