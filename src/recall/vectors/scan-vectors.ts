import { handingOver } from "../../offload/offload.js";
import type { Survey } from "./vector-index.js";

/** Vectors one after the other, with the documents that they are of; 0 for a place that is empty. May be shared between threads. */
export interface VectorRows {
  readonly ids: Int32Array;
  readonly values: Float32Array;
  readonly count: number;
}

export interface ScanTask {
  readonly sets: readonly VectorRows[];
  readonly query: Float32Array;
  readonly nearest: number;
  readonly wanted: readonly number[];
}

/** The same in a worker thread. */
export function scanOffloaded(task: ScanTask): Survey {
  const survey = scanVectors(task);
  return handingOver(survey, [survey.ids.buffer as ArrayBuffer, survey.cosines.buffer as ArrayBuffer]);
}

/** Every vector against the query. Exact. */
export function scanVectors({ sets, query, nearest, wanted }: ScanTask): Survey {
  const best = new Nearest(nearest);
  const named = new Map(wanted.map((id) => [id, Number.NaN]));
  let count = 0;
  let sum = 0;
  let squares = 0;
  for (const { ids, values, count: rows } of sets) {
    for (let row = 0; row < rows; row++) {
      const id = ids[row]!;
      if (id === 0) continue;
      const cosine = dot(values, row * query.length, query);
      count++;
      sum += cosine;
      squares += cosine * cosine;
      best.offer(id, cosine);
      if (named.size > 0 && named.has(id)) named.set(id, cosine);
    }
  }
  const { ids, cosines } = best.sorted();
  for (const id of ids) named.delete(id);
  for (const [id, cosine] of named) if (Number.isNaN(cosine)) named.delete(id);
  const mean = count === 0 ? 0 : sum / count;
  return {
    ids: Int32Array.from([...ids, ...named.keys()]),
    cosines: Float32Array.from([...cosines, ...named.values()]),
    mean,
    deviation: count === 0 ? 0 : Math.sqrt(Math.max(0, squares / count - mean * mean)),
    count,
  };
}

/** Four sums, so that none waits for the one before it. */
export function dot(values: Float32Array, offset: number, query: Float32Array): number {
  const whole = query.length & ~3;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let at = 0, from = offset; at < whole; at += 4, from += 4) {
    a += values[from]! * query[at]!;
    b += values[from + 1]! * query[at + 1]!;
    c += values[from + 2]! * query[at + 2]!;
    d += values[from + 3]! * query[at + 3]!;
  }
  for (let at = whole; at < query.length; at++) a += values[offset + at]! * query[at]!;
  return a + b + (c + d);
}

/** The best so many, in a heap whose first is the worst of them. */
class Nearest {
  private readonly ids: number[] = [];
  private readonly cosines: number[] = [];

  constructor(private readonly most: number) {}

  offer(id: number, cosine: number): void {
    const { ids, cosines } = this;
    if (ids.length < this.most) {
      ids.push(id);
      cosines.push(cosine);
      this.up(ids.length - 1);
    } else if (this.most > 0 && isFurther(cosines[0]!, ids[0]!, cosine, id)) {
      ids[0] = id;
      cosines[0] = cosine;
      this.down(0);
    }
  }

  sorted(): { readonly ids: readonly number[]; readonly cosines: readonly number[] } {
    const order = this.ids.map((_, at) => at);
    order.sort((a, b) => this.cosines[b]! - this.cosines[a]! || this.ids[a]! - this.ids[b]!);
    return { ids: order.map((at) => this.ids[at]!), cosines: order.map((at) => this.cosines[at]!) };
  }

  private up(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.further(at, parent)) return;
      this.swap(at, parent);
      at = parent;
    }
  }

  private down(from: number): void {
    for (let at = from; ; ) {
      const left = 2 * at + 1;
      const right = left + 1;
      let worst = at;
      if (left < this.ids.length && this.further(left, worst)) worst = left;
      if (right < this.ids.length && this.further(right, worst)) worst = right;
      if (worst === at) return;
      this.swap(at, worst);
      at = worst;
    }
  }

  private further(a: number, b: number): boolean {
    return isFurther(this.cosines[a]!, this.ids[a]!, this.cosines[b]!, this.ids[b]!);
  }

  private swap(a: number, b: number): void {
    [this.ids[a], this.ids[b]] = [this.ids[b]!, this.ids[a]!];
    [this.cosines[a], this.cosines[b]] = [this.cosines[b]!, this.cosines[a]!];
  }
}

/** Of equal cosines, the older document is nearer. */
function isFurther(cosineA: number, idA: number, cosineB: number, idB: number): boolean {
  return cosineA < cosineB || (cosineA === cosineB && idA > idB);
}
