import { type LaneShares, type LaneTokens, lanes } from "../domain/capsule.js";

/** No lane is ever starved, and none takes it all. */
export const laneBounds = { min: 0.02, max: 0.7 } as const;

/**
 * Moves lane shares toward what a turn needed, by `rate * score` of the way.
 *
 * - Both ends of the way are taken as their nearest point within the bounds, and those points form a convex set:
 *   so every result has each share within the bounds, and a sum of 1 (to within 1e-9).
 * - A score of 0 teaches nothing: the shares come back as they are.
 * - Repeated outcomes converge: the distance to a constant need shrinks by the factor `1 - rate * score` each time, and
 *   noise around it is averaged over about `1 / (rate * score)` outcomes.
 */
export function learn(shares: LaneShares, neededTokens: LaneTokens, score: number, rate: number): LaneShares {
  const step = rate * score;
  const neededTotal = lanes.reduce((sum, lane) => sum + neededTokens[lane], 0);
  if (step === 0 || neededTotal === 0) return shares;
  const from = withinBounds(lanes.map((lane) => shares[lane]));
  const toward = withinBounds(lanes.map((lane) => neededTokens[lane] / neededTotal));
  const moved = from.map((share, index) => clamp(share + step * (toward[index]! - share)));
  return Object.fromEntries(lanes.map((lane, index) => [lane, moved[index]!])) as LaneShares;
}

/** The nearest shares that keep the bounds and sum to 1: all shifted by the same amount, then clamped. */
function withinBounds(shares: readonly number[]): readonly number[] {
  let low = -1;
  let high = 1;
  // The sum falls as the shift grows, and a double has no more than 53 halvings to give.
  for (let halving = 0; halving < 60; halving++) {
    const shift = (low + high) / 2;
    const sum = shares.reduce((total, share) => total + clamp(share - shift), 0);
    if (sum > 1) low = shift;
    else high = shift;
  }
  return shares.map((share) => clamp(share - high));
}

function clamp(share: number): number {
  return Math.min(laneBounds.max, Math.max(laneBounds.min, share));
}
