import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { budgetLimits, planLanes } from "../../src/budget/limits.js";
import { countedTokens, modelTokens } from "../../src/domain/token-units.js";
import { scaled, unscaled } from "../../src/models/token-scale.js";

const unset = {
  inputTokens: undefined,
  reserveResponse: undefined,
  reserveTools: undefined,
  knobTokens: undefined,
  askedTokens: undefined,
};

describe("limits", () => {
  test("keep 8,192 and 16,384 tokens free in a large window", () => {
    expect(budgetLimits({ ...unset, contextTokens: 200_000 })).toEqual({
      bound: "window",
      modelLimit: 200_000,
      reserveResponse: 8_192,
      reserveTools: 16_384,
      available: 200_000 - 8_192 - 16_384,
    });
  });

  test("scale the reserves down for a small window, but not those that were set", () => {
    expect(budgetLimits({ ...unset, contextTokens: 8_000 })).toMatchObject({
      reserveResponse: 1_000,
      reserveTools: 2_000,
      available: 5_000,
    });
    expect(budgetLimits({ ...unset, contextTokens: 8_000, reserveResponse: 4_000 })).toMatchObject({
      reserveResponse: 4_000,
      available: 2_000,
    });
    expect(budgetLimits({ ...unset, contextTokens: 8_000, reserveTools: 9_000 })).toMatchObject({
      available: 0,
    });
  });

  test("take the least of window, input limit, knobs and request", () => {
    const most = {
      ...unset,
      contextTokens: 100_000,
      inputTokens: 60_000,
      knobTokens: 50_000,
      askedTokens: 40_000,
    };
    expect(budgetLimits(most).available).toBe(40_000);
    expect(budgetLimits({ ...most, askedTokens: undefined }).available).toBe(50_000);
    expect(budgetLimits({ ...most, askedTokens: undefined, knobTokens: undefined }).available).toBe(60_000);
  });
});

describe("lanes", () => {
  test("are whole tokens, rounded down", () => {
    const lanes = planLanes(
      { system: 0.15, history: 0.3, memory: 0.25, tools: 0.2, buffer: 0.1 },
      modelTokens(1_001),
    );
    expect(lanes).toEqual({ system: 150, history: 300, memory: 250, tools: 200, buffer: 100 });
  });

  test("do not lose a token to binary fractions", () => {
    expect(
      planLanes({ system: 0.1, history: 0.35, memory: 0.3, tools: 0.15, buffer: 0.1 }, modelTokens(100)),
    ).toMatchObject({ history: 35, memory: 30, tools: 15 });
  });
});

describe("scale", () => {
  test("what fits in unscaled tokens fits in scaled ones, and one more does not", () => {
    const scale = fc.record({
      exact: fc.boolean(),
      ratio: fc.constantFrom(1, 1.1, 1.25, 1.625, 3),
      margin: fc.constantFrom(0, 0.05, 0.15, 1),
    });
    fc.assert(
      fc.property(scale, fc.integer({ min: 0, max: 10_000_000 }), (given, tokens) => {
        const fitting = unscaled(given, modelTokens(tokens));
        expect(scaled(given, fitting)).toBeLessThanOrEqual(tokens);
        expect(scaled(given, countedTokens(fitting + 1))).toBeGreaterThan(given.exact ? tokens : tokens - 1);
      }),
      { seed: 1, numRuns: 2_000 },
    );
  });

  test("leaves exact counts as they are", () => {
    expect(scaled({ exact: true, ratio: 1, margin: 0 }, countedTokens(123))).toBe(123);
    expect(scaled({ exact: false, ratio: 1.25, margin: 0.15 }, countedTokens(100))).toBe(144);
  });
});
