import type { Figure } from "../figure.js";
import { progress } from "../measure.js";
import type { Wanted } from "./collection.js";

export const depths = [5, 10, 25] as const;

/** The mean share of the evidence that is among the best 5, 10 and 25. */
export class Recall {
  private readonly sums = depths.map(() => 0);
  private count = 0;

  add({ evidence }: Wanted, found: readonly string[]): void {
    depths.forEach((depth, at) => {
      const best = new Set(found.slice(0, depth));
      this.sums[at]! += evidence.filter((id) => best.has(id)).length / evidence.length;
    });
    this.count++;
  }

  get shares(): readonly number[] {
    return this.sums.map((sum) => (100 * sum) / Math.max(1, this.count));
  }

  get size(): number {
    return this.count;
  }
}

export function shares(name: string, values: readonly number[], least?: readonly number[]): Figure[] {
  progress(`recall: ${name}: ${values.map((value) => value.toFixed(1)).join(" / ")}`);
  return depths.map((depth, at) => ({
    figure: `recall: ${name}, at ${depth}`,
    value: values[at]!,
    unit: "%",
    ...(least ? { limit: least[at]!, holds: values[at]! >= least[at]!, note: "at least" } : {}),
  }));
}
