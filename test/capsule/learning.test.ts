import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { laneBounds, learn } from "../../src/capsule/learning.js";
import { type LaneShares, type LaneTokens, lanes } from "../../src/domain/capsule.js";
import { Random } from "../model/random.js";

const start: LaneShares = { system: 0.15, history: 0.3, memory: 0.25, tools: 0.2, buffer: 0.1 };

function expectBounded(shares: LaneShares): void {
  const sum = lanes.reduce((total, lane) => total + shares[lane], 0);
  expect(Math.abs(sum - 1)).toBeLessThan(1e-9);
  for (const lane of lanes) {
    expect(shares[lane]).toBeGreaterThanOrEqual(laneBounds.min);
    expect(shares[lane]).toBeLessThanOrEqual(laneBounds.max);
  }
}

function distance(shares: LaneShares, needs: LaneShares): number {
  return Math.max(...lanes.map((lane) => Math.abs(shares[lane] - needs[lane])));
}

describe("learn", () => {
  test("converges to what noisy turns need, whatever their scores", () => {
    const needs: LaneShares = { system: 0.1, history: 0.5, memory: 0.2, tools: 0.05, buffer: 0.15 };
    const random = new Random(20_261_116);
    let shares = start;
    const late: number[] = [];
    for (let turn = 0; turn < 2_000; turn++) {
      const size = 2_000 + random.next() * 60_000;
      const noisy = (share: number) => Math.round(size * share * (0.5 + random.next()));
      const needed = Object.fromEntries(lanes.map((lane) => [lane, noisy(needs[lane])])) as LaneTokens;
      shares = learn(shares, needed, 0.3 + 0.7 * random.next(), 0.05);
      expectBounded(shares);
      if (turn >= 500) late.push(distance(shares, needs));
    }
    expect(distance(start, needs)).toBeGreaterThan(0.14);
    expect(Math.max(...late)).toBeLessThan(0.05);
    expect(late.reduce((sum, value) => sum + value, 0) / late.length).toBeLessThan(0.02);
  });

  test("one turn moves a share by no more than the rate", () => {
    const moved = learn(start, { system: 0, history: 0, memory: 100_000, tools: 0, buffer: 0 }, 1, 0.05);
    for (const lane of lanes) expect(Math.abs(moved[lane] - start[lane])).toBeLessThanOrEqual(0.05);
    expect(moved.memory).toBeGreaterThan(start.memory);
  });

  test("a better turn teaches more, and one with score 0 nothing", () => {
    const needed = { system: 1_000, history: 9_000, memory: 0, tools: 0, buffer: 0 };
    const good = learn(start, needed, 1, 0.05).history;
    const poor = learn(start, needed, 0.2, 0.05).history;
    expect(good).toBeGreaterThan(poor);
    expect(poor).toBeGreaterThan(start.history);
    expect(learn(start, needed, 0, 0.05)).toEqual(start);
  });

  const settled = (needed: LaneTokens) => {
    let shares = start;
    for (let turn = 0; turn < 500; turn++) shares = learn(shares, needed, 1, 0.1);
    return shares;
  };

  test("a lane that is never needed ends at the lower bound, not at nothing", () => {
    const shares = settled({ system: 0, history: 500, memory: 500, tools: 0, buffer: 0 });
    for (const lane of ["system", "tools", "buffer"] as const)
      expect(shares[lane]).toBeCloseTo(laneBounds.min, 9);
  });

  test("a lane that is alone needed ends at the upper bound, and the others share the rest", () => {
    const shares = settled({ system: 0, history: 500, memory: 0, tools: 0, buffer: 0 });
    expect(shares.history).toBeCloseTo(laneBounds.max, 9);
    for (const lane of lanes.filter((other) => other !== "history"))
      expect(shares[lane]).toBeCloseTo(0.075, 9);
  });

  test("never leaves the bounds, from whatever shares a put set", () => {
    const tokens = fc.integer({ min: 0, max: 4_294_967_295 });
    const needs = fc.record({
      system: tokens,
      history: tokens,
      memory: tokens,
      tools: tokens,
      buffer: tokens,
    });
    const weights = fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 5, maxLength: 5 });
    const unit = fc.double({ min: 0.001, max: 1, noNaN: true });
    fc.assert(
      fc.property(
        weights,
        fc.array(needs, { minLength: 1, maxLength: 20 }),
        unit,
        unit,
        (given, turns, score, rate) => {
          const total = given.reduce((sum, weight) => sum + weight, 0);
          fc.pre(total > 0 && turns.every((needed) => lanes.some((lane) => needed[lane] > 0)));
          let shares = Object.fromEntries(
            lanes.map((lane, index) => [lane, given[index]! / total]),
          ) as LaneShares;
          for (const needed of turns) {
            shares = learn(shares, needed, score, rate);
            expectBounded(shares);
          }
        },
      ),
      { seed: 7, numRuns: 300 },
    );
  });
});
