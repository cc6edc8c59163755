import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Calibration,
  calibrate,
  cataloguePrior,
  keptObservations,
  leastMargin,
  mostMargin,
  observedRatio,
  type Prior,
  sharedPrior,
} from "../../src/models/calibration.js";
import { Random } from "../model/random.js";

const catalogue = cataloguePrior({ ratio: 1.25, margin: 0.15 });
const trueRatio = 1.3;

interface Turn {
  readonly countedTokens: number;
  readonly inputTokens: number;
  readonly isOutlier: boolean;
}

/** What a provider reports whose tokenizer makes 1.3 tokens of an o200k token, give or take, and that errs in 2 % of the turns. */
function reportedTurns(seed: number, noise: number, count: number, outliers = 0.02): readonly Turn[] {
  const random = new Random(seed * 7_919);
  return Array.from({ length: count }, () => {
    const countedTokens = 500 + random.below(100_000);
    const isOutlier = random.chance(outliers);
    const error = isOutlier ? random.pick([3, 0.3]) : 1;
    const inputTokens = Math.round(countedTokens * trueRatio * (1 + noise * normal(random)) * error);
    return { countedTokens, inputTokens, isOutlier };
  });
}

function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

/** The calibration after each turn. */
function calibrations(turns: readonly Turn[], prior: Prior = catalogue): readonly Calibration[] {
  const made: Calibration[] = [];
  for (const turn of turns) made.push(calibrate(prior, made.at(-1), observedRatio(turn)!));
  return made;
}

function ofRatios(ratios: readonly number[], prior: Prior = catalogue): Calibration | undefined {
  return ratios.reduce<Calibration | undefined>(
    (before, ratio) => calibrate(prior, before, ratio),
    undefined,
  );
}

const seeds = Array.from({ length: 20 }, (_, index) => index + 1);

/** The turns after the thirtieth at which the estimate was wrong by more than allowed, or the provider counted more than its margin. */
function failures(seed: number, noise: number, allowed: number): readonly string[] {
  const turns = reportedTurns(seed, noise, 500);
  const made = calibrations(turns);
  return turns.flatMap(({ countedTokens, inputTokens, isOutlier }, at) => {
    const { ratio, margin } = made[at - 1] ?? catalogue;
    const isFar = Math.abs(ratio / trueRatio - 1) > allowed;
    const isOver = !isOutlier && inputTokens > Math.ceil(countedTokens * ratio * (1 + margin));
    return at >= 30 && (isFar || isOver) ? [`seed ${seed}, turn ${at}: ${isFar ? "far" : "over"}`] : [];
  });
}

describe("with a tokenizer of 1.3x o200k, noise and 2 % outliers, after 30 turns", () => {
  test.each([
    0, 0.01, 0.02, 0.03, 0.04,
  ])("noise %d: the estimate is within 3 %, and no count is above it by more than the margin shown", (noise) => {
    expect(seeds.flatMap((seed) => failures(seed, noise, 0.03))).toEqual([]);
  });

  test("the margin holds for noise of which thirty turns do not give the ratio so well", () => {
    expect(seeds.flatMap((seed) => failures(seed, 0.08, 0.06))).toEqual([]);
  });
});

describe("the margin", () => {
  const meanMargin = (noise: number, evidence: number) => {
    const margins = seeds.map((seed) => calibrations(reportedTurns(seed, noise, evidence)).at(-1)!.margin);
    return margins.reduce((sum, margin) => sum + margin, 0) / margins.length;
  };

  test("shrinks as evidence grows, down to what the noise asks for", () => {
    for (const noise of [0.005, 0.01, 0.02, 0.03]) {
      const margins = [5, 10, 30, 128].map((evidence) => meanMargin(noise, evidence));
      expect(margins).toEqual(margins.toSorted((a, b) => b - a));
      expect(margins.at(-1)).toBeGreaterThan(3 * noise);
    }
    expect(meanMargin(0.01, 30)).toBeLessThan(0.07);
    expect(meanMargin(0.01, 128)).toBeLessThan(0.055);
    expect(meanMargin(0.02, 30)).toBeLessThan(0.12);
    expect(meanMargin(0.03, 128)).toBeLessThan(0.15);
  });

  test("is more than the catalogue's where the noise is: that one was a guess", () => {
    expect(meanMargin(0.04, 128)).toBeGreaterThan(0.15);
    expect(meanMargin(0.04, 128)).toBeLessThan(meanMargin(0.04, 10));
  });

  test("is never less than 2 %, and rises again when noise does", () => {
    const still = ofRatios(Array.from({ length: 1_000 }, () => 1.3))!;
    expect(still.margin).toBeGreaterThanOrEqual(leastMargin);
    expect(still.margin).toBeLessThan(0.04);
    const random = new Random(1);
    let noisy = still;
    for (let turn = 0; turn < 128; turn++)
      noisy = calibrate(catalogue, noisy, 1.3 + 0.2 * (random.next() - 0.5));
    expect(noisy.margin).toBeGreaterThan(0.1);
  });

  test("covers what one turn in eight exceeds: that is no outlier", () => {
    const { margin, ratio } = ofRatios(
      Array.from({ length: 128 }, (_, turn) => (turn % 8 === 0 ? 1.8 : 1.3)),
    )!;
    expect(ratio * (1 + margin)).toBeGreaterThanOrEqual(1.8);
  });
});

describe("the ratio", () => {
  test("is the catalogue's until there are five usages, and then the observed one", () => {
    const made = calibrations(reportedTurns(1, 0.01, 5, 0));
    for (const [at, calibration] of made.slice(0, 4).entries())
      expect(calibration).toMatchObject({ version: 0, ratio: 1.25, margin: 0.15, evidence: at + 1 });
    expect(made[4]).toMatchObject({ version: 1, evidence: 5 });
    expect(Math.abs(made[4]!.ratio / trueRatio - 1)).toBeLessThan(0.02);
  });

  test("is not moved by outliers, be they large or small, early or late", () => {
    const clean = ofRatios([1.3, 1.31, 1.29, 1.3, 1.3])!;
    for (const outlier of [3.9, 0.39, 1e9, 1e-9]) {
      expect(ofRatios([outlier, 1.3, 1.31, 1.29, 1.3, 1.3])!.ratio).toBeCloseTo(clean.ratio, 2);
      const { ratio } = calibrate(catalogue, clean, outlier);
      expect(ratio).toBe(clean.ratio);
    }
  });

  test("follows a model whose tokenizer changed", () => {
    const changed = [...Array.from({ length: 128 }, () => 1.3), ...Array.from({ length: 100 }, () => 1.7)];
    expect(ofRatios(changed)!.ratio).toBeCloseTo(1.7, 2);
  });

  test("stays within its bounds, whatever is reported", () => {
    const hostile = fc.oneof(
      fc.double({ min: 1e-12, max: 1e12, noNaN: true }),
      fc.constantFrom(5e-324, 1e-9, 0.4, 2.5, 1e9, Number.MAX_VALUE),
    );
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 200 }), (ratios) => {
        const { ratio, margin, evidence, observations } = ofRatios(ratios)!;
        expect(ratio).toBeGreaterThanOrEqual(0.4 * 1.25 - 1e-9);
        expect(ratio).toBeLessThanOrEqual(2.5 * 1.25 + 1e-9);
        expect(margin).toBeGreaterThanOrEqual(leastMargin);
        expect(margin).toBeLessThanOrEqual(mostMargin);
        expect(evidence).toBe(ratios.length);
        expect(observations).toEqual(ratios.slice(-keptObservations));
      }),
      { seed: 1, numRuns: 300 },
    );
  });

  test("has the catalogue's bounds under a shared prior, too", () => {
    const shared = ofRatios(Array.from({ length: 20 }, () => 100))!;
    const own = ofRatios(
      Array.from({ length: 20 }, () => 100),
      sharedPrior(catalogue, shared),
    )!;
    expect(own.ratio).toBeCloseTo(2.5 * 1.25, 9);
    expect(own.margin).toBe(mostMargin);
  });
});

describe("the version", () => {
  test("grows only when ratio or margin changed noticeably", () => {
    for (const seed of seeds) {
      const made = calibrations(reportedTurns(seed, 0.02, 1_000));
      for (const [at, calibration] of made.entries()) {
        const before = made[at - 1];
        if (!before || before.version === 0) continue;
        const { ratio, margin, version } = calibration;
        const isSame = ratio === before.ratio && margin === before.margin;
        expect(version).toBe(isSame ? before.version : before.version + 1);
        if (isSame) continue;
        const change = Math.max(Math.abs(Math.log(ratio / before.ratio)), Math.abs(margin - before.margin));
        expect(change).toBeGreaterThanOrEqual(0.005);
      }
      // In the steady state, less than once in 50 turns.
      expect(made.at(-1)!.version - made[127]!.version).toBeLessThan(872 / 50);
    }
  });

  test("of a tenant's first own calibration comes after those of the shared one", () => {
    const shared = ofRatios(Array.from({ length: 50 }, (_, turn) => 1 + turn / 50))!;
    expect(shared.version).toBeGreaterThan(3);
    const prior = sharedPrior(catalogue, shared);
    expect(prior).toMatchObject({ ratio: shared.ratio, anchor: 1.25 });
    const own = ofRatios([1.3, 1.3, 1.3, 1.3, 1.3], prior)!;
    expect(own.version).toBe(shared.version + 1);
  });
});

describe("an observation", () => {
  test("is what was reported for an o200k token, to six digits", () => {
    expect(observedRatio({ countedTokens: 3_000, inputTokens: 4_000 })).toBe(1.33333);
  });

  test("needs a context of 200 tokens and a report", () => {
    expect(observedRatio({ countedTokens: 199, inputTokens: 260 })).toBeUndefined();
    expect(observedRatio({ countedTokens: 200, inputTokens: 260 })).toBe(1.3);
    expect(observedRatio({ countedTokens: 1_000, inputTokens: 0 })).toBeUndefined();
    expect(observedRatio({ countedTokens: Number.NaN, inputTokens: 10 })).toBeUndefined();
  });

  test("gives the same calibration after the same ones before it, and after these were stored", () => {
    const turns = reportedTurns(3, 0.04, 300);
    const made = calibrations(turns);
    expect(calibrations(turns)).toEqual(made);
    const stored = JSON.parse(JSON.stringify(made[149])) as Calibration;
    const next = observedRatio(turns[150]!)!;
    expect(calibrate(catalogue, stored, next)).toEqual(made[150]);
  });
});
