import { type FeatureName, featureNames, type Weights } from "../../src/recall/ranking/weights.js";

/** What was ranked for one query: the features of each candidate, and whether it is what was wanted. */
export interface Example {
  readonly features: readonly Float64Array[];
  readonly isWanted: readonly boolean[];
}

const rounds = 120;
const rate = 0.05;
const decay = 1e-4;

/**
 * Weights under which each of what is wanted is most likely drawn: the softmax of the scores, by gradient descent (Adam). What is wanted
 * counts alike, since recall counts so.
 * The same examples give the same weights.
 */
export function learn(examples: readonly Example[], names: readonly FeatureName[]): Weights {
  const at = names.map((name) => featureNames.indexOf(name));
  const weights = names.map((name) => (name === "terms" ? 4 : 0.3));
  const first = names.map(() => 0);
  const second = names.map(() => 0);
  for (let round = 1; round <= rounds; round++) {
    const gradient = names.map(() => 0);
    for (const { features, isWanted } of examples) {
      const scores = features.map((values) =>
        at.reduce((sum, index, k) => sum + weights[k]! * values[index]!, 0),
      );
      const top = Math.max(...scores);
      const powers = scores.map((score) => Math.exp(score - top));
      const all = powers.reduce((a, b) => a + b, 0);
      const wanted = isWanted.filter(Boolean).length;
      if (wanted === 0) continue;
      features.forEach((values, row) => {
        const pull = (isWanted[row] ? 1 / wanted : 0) - powers[row]! / all;
        if (Math.abs(pull) > 1e-6)
          for (const [k, index] of at.entries()) gradient[k]! += pull * values[index]!;
      });
    }
    names.forEach((_, k) => {
      const g = gradient[k]! / examples.length - decay * weights[k]!;
      first[k] = 0.9 * first[k]! + 0.1 * g;
      second[k] = 0.999 * second[k]! + 0.001 * g * g;
      const step = first[k]! / (1 - 0.9 ** round) / (Math.sqrt(second[k]! / (1 - 0.999 ** round)) + 1e-8);
      weights[k]! += rate * step;
    });
  }
  return Object.fromEntries(names.map((name, k) => [name, Math.round(weights[k]! * 100) / 100]));
}
