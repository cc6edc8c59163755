import type { Unit } from "./unit.js";

/** A unit that a summary may take, with what it costs and says. */
export interface Candidate {
  readonly unit: Unit;
  /** Its place in the conversation. */
  readonly order: number;
  readonly tokens: number;
  readonly terms: readonly number[];
}

/** How many tokens may be spent, and how many of them on tool calls and on what the summary before held. */
export interface Pools {
  readonly all: number;
  readonly tools: number;
  readonly carried: number;
}

/** What each further saying of a term is worth, against the one before. */
const repeated = 0.2;
/** What a unit is taken to cost beside its words when it is compared: without it, scraps would win. */
const unitTokens = 6;
/** With fewer terms than these a unit says nothing whole. */
const wholeTerms = 4;
/** What a line costs beside its words: who says it, and its end. */
const lineTokens = 2;

export function costOf({ tokens }: Candidate): number {
  return tokens + lineTokens;
}

/**
 * Takes what says the most new for its length, again and again: the greedy answer to covering the most valuable terms
 * within a budget. What has been said makes what says it again worth less.
 */
export class Cover {
  private readonly said: Uint8Array;
  private readonly hasAsked: boolean;

  /** What was asked for is worth as much each time that it is said. */
  constructor(
    private readonly worth: Float64Array,
    private readonly asked: ReadonlySet<number> = new Set(),
  ) {
    this.said = new Uint8Array(worth.length);
    this.hasAsked = asked.size > 0;
  }

  isSaid(term: number): boolean {
    return this.said[term]! > 0;
  }

  say(terms: Iterable<number>): void {
    for (const term of terms) if (this.said[term]! < 8) this.said[term]! += 1;
  }

  /** The best candidates, best first, until the pools' tokens are spent. */
  take(candidates: readonly Candidate[], pools: Pools): Candidate[] {
    const heap = new Heap();
    for (const [index, candidate] of candidates.entries()) {
      const value = this.density(candidate);
      if (value > 0) heap.push(index, value);
    }
    const taken: Candidate[] = [];
    const left = { ...pools };
    while (heap.size > 0 && left.all > 0) {
      const [index, believed] = heap.pop();
      const candidate = candidates[index]!;
      const cost = costOf(candidate);
      const isTool = candidate.unit.group === "tool";
      const isCarried = candidate.unit.turn < 0;
      if (cost > left.all || (isTool && cost > left.tools) || (isCarried && cost > left.carried)) continue;
      const value = this.density(candidate);
      if (value <= 0) continue;
      // Values only fall, so one that is still what it was believed to be is the best of all.
      if (value < believed - 1e-9) {
        heap.push(index, value);
        continue;
      }
      taken.push(candidate);
      this.say(candidate.terms);
      left.all -= cost;
      if (isTool) left.tools -= cost;
      if (isCarried) left.carried -= cost;
    }
    return taken;
  }

  private density({ unit, terms, tokens }: Candidate): number {
    let fresh = 0;
    let whole = 0;
    for (const term of terms) {
      whole += this.worth[term]!;
      fresh += this.worth[term]! * (this.hasAsked && this.asked.has(term) ? 1 : repeated ** this.said[term]!);
    }
    if (whole === 0) return 0;
    const bonus = unit.bonus * Math.min(1, whole / 2) * (0.25 + 0.75 * (fresh / whole));
    const thin = Math.min(1, terms.length / wholeTerms);
    return ((unit.weight * fresh + bonus) * thin) / (tokens + unitTokens);
  }
}

/** Pops the highest value; of equal ones, the earliest index. */
class Heap {
  private readonly indexes: number[] = [];
  private readonly values: number[] = [];

  get size(): number {
    return this.indexes.length;
  }

  push(index: number, value: number): void {
    let at = this.indexes.push(index) - 1;
    this.values.push(value);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.isBefore(at, parent)) break;
      this.swap(at, parent);
      at = parent;
    }
  }

  pop(): readonly [number, number] {
    this.swap(0, this.indexes.length - 1);
    const top = [this.indexes.pop()!, this.values.pop()!] as const;
    for (let at = 0; ; ) {
      let best = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < this.indexes.length && this.isBefore(child, best)) best = child;
      if (best === at) return top;
      this.swap(at, best);
      at = best;
    }
  }

  private isBefore(a: number, b: number): boolean {
    const difference = this.values[a]! - this.values[b]!;
    return difference > 0 || (difference === 0 && this.indexes[a]! < this.indexes[b]!);
  }

  private swap(a: number, b: number): void {
    [this.indexes[a], this.indexes[b]] = [this.indexes[b]!, this.indexes[a]!];
    [this.values[a], this.values[b]] = [this.values[b]!, this.values[a]!];
  }
}
