import { handingOver } from "../../offload/offload.js";
import { kthLargest } from "../ranking/kth-largest.js";
import { dot } from "./dot.js";
import { SignEstimate } from "./signs.js";
import type { VectorRows } from "./vector-rows.js";
import type { VectorRowSet } from "./vector-set.js";

export interface ScanTask {
  readonly sets: readonly VectorRowSet[];
  readonly query: Float32Array;
  readonly nearest: number;
}

/** Documents, nearest first. */
export interface Nearest {
  readonly ids: Int32Array;
  readonly cosines: Float32Array;
}

/** Of those that look nearest by their signs, so many times as many as are wanted are compared. */
const comparedTimes = 3;
/** At least this share of vectors of so many numbers, and more of shorter ones, whose signs say less; but no more than 2,000 are needed. */
const comparedShare = 0.06;
const usualDimensions = 384;
const mostNeeded = 2_000;

/** About how many numbers a scan looks at. */
export function scanCost({ sets, query, nearest }: ScanTask): number {
  let cost = 0;
  let estimated = 0;
  for (const { rows, typical } of sets)
    for (const { count } of rows) {
      cost += (count * query.length) / (typical ? 8 : 1);
      if (typical) estimated += count;
    }
  return cost + Math.min(estimated, comparedOf(nearest, estimated, query.length)) * query.length;
}

function comparedOf(nearest: number, count: number, dimensions: number): number {
  const share = (comparedShare * count * usualDimensions) / dimensions;
  return Math.max(comparedTimes * nearest, Math.min(mostNeeded, Math.ceil(share)));
}

/** The same in a worker thread. */
export function scanOffloaded(task: ScanTask): Nearest {
  const found = scanVectors(task);
  return handingOver(found, [found.ids.buffer as ArrayBuffer, found.cosines.buffer as ArrayBuffer]);
}

/**
 * The nearest of some vectors. Small sets are all compared; of large ones, those whose signs say that they may be near. So what is
 * nearest is found nearly always, and its cosine is exact.
 */
export function scanVectors({ sets, query, nearest }: ScanTask): Nearest {
  const ids: number[] = [];
  const cosines: number[] = [];
  const compare = ({ ids: known, values }: VectorRows, row: number) => {
    if (known[row] === 0) return;
    ids.push(known[row]!);
    cosines.push(dot(values, row * query.length, query));
  };
  const large = sets.filter(({ typical }) => typical);
  for (const { rows, typical } of sets)
    if (!typical) for (const chunk of rows) for (let row = 0; row < chunk.count; row++) compare(chunk, row);
  const estimates = estimate(large, query);
  const wanted = comparedOf(nearest, estimates.length, query.length);
  const isAll = estimates.length <= wanted;
  const least = isAll
    ? Number.NEGATIVE_INFINITY
    : kthLargest(new Float64Array(estimates), estimates.length, wanted);
  let at = 0;
  for (const { rows } of large)
    for (const chunk of rows)
      for (let row = 0; row < chunk.count; row++) if (estimates[at++]! >= least) compare(chunk, row);
  const farthest =
    cosines.length > nearest
      ? kthLargest(Float64Array.from(cosines), cosines.length, nearest)
      : Number.NEGATIVE_INFINITY;
  const order: number[] = [];
  for (let index = 0; index < cosines.length; index++) if (cosines[index]! >= farthest) order.push(index);
  // Of equal cosines, the older document is nearer.
  order.sort((a, b) => cosines[b]! - cosines[a]! || ids[a]! - ids[b]!);
  const best = order.slice(0, nearest);
  return {
    ids: Int32Array.from(best, (index) => ids[index]!),
    cosines: Float32Array.from(best, (index) => cosines[index]!),
  };
}

function estimate(sets: readonly VectorRowSet[], query: Float32Array): Float32Array {
  const total = sets.reduce((sum, { rows }) => rows.reduce((inner, { count }) => inner + count, sum), 0);
  const estimates = new Float32Array(total);
  let at = 0;
  for (const { rows, typical } of sets) {
    const near = new SignEstimate(query, typical!);
    for (const { ids, signs, count } of rows)
      for (let row = 0; row < count; row++)
        estimates[at++] = ids[row] === 0 ? Number.NEGATIVE_INFINITY : near.of(signs, row);
  }
  return estimates;
}
