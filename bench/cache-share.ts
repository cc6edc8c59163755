import type { CacheUsage } from "./cache-provider.js";
import type { SimulatedModel } from "./cache-providers.js";
import type { SentRequest } from "./cache-replay.js";
import type { Figure } from "./figure.js";
import { progress } from "./measure.js";

const barChars = 40;

export function sumOf<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0);
}

/** The share of the input that was read from the cache. */
export function shareRead(requests: readonly CacheUsage[]): number {
  return sumOf(requests, ({ read }) => read) / sumOf(requests, ({ input }) => input);
}

export function warm<Request extends { readonly isCold: boolean }>(requests: readonly Request[]): Request[] {
  return requests.filter(({ isCold }) => !isCold);
}

/** Without those that had to write everything anew: the first after each compaction, and the cold ones. */
export function betweenCompactions(requests: readonly SentRequest[]): SentRequest[] {
  return warm(requests).filter(({ isAfterCompaction }) => !isAfterCompaction);
}

/** What the input cost, in input tokens at full price. */
export function costOf({ readPrice, writePrice }: SimulatedModel, requests: readonly CacheUsage[]): number {
  return sumOf(
    requests,
    ({ input, read, written }) => read * readPrice + written * writePrice + (input - read - written),
  );
}

/** How far the sum of what was predicted is from what was read. */
export function predictionError(requests: readonly SentRequest[]): number {
  const read = sumOf(requests, (request) => request.read);
  return Math.abs(sumOf(requests, ({ predictedRead }) => predictedRead) - read) / read;
}

/** The largest error of a turn, as a share of its input. */
export function worstTurn(requests: readonly SentRequest[]): number {
  const turns = new Map<number, { error: number; input: number }>();
  for (const { turn, predictedRead, read, input } of requests) {
    const of = turns.get(turn) ?? { error: 0, input: 0 };
    turns.set(turn, { error: of.error + predictedRead - read, input: of.input + input });
  }
  return Math.max(...[...turns.values()].map(({ error, input }) => Math.abs(error) / input));
}

export function percent(figure: string, share: number, note = ""): Figure {
  return { figure, value: share * 100, unit: "%", ...(note ? { note } : {}) };
}

export function atLeastPercent(figure: string, share: number, limit: number): Figure {
  return { figure, value: share * 100, unit: "%", limit, holds: share * 100 >= limit, note: "at least" };
}

export function atMostPercent(figure: string, share: number, limit: number): Figure {
  return { figure, value: share * 100, unit: "%", limit, holds: share * 100 <= limit, note: "at most" };
}

/** Shares as bars, one below the other. */
export function printBars(title: string, shares: Readonly<Record<string, number>>): void {
  const width = Math.max(...Object.keys(shares).map((name) => name.length));
  progress(`\n${title}`);
  for (const [name, share] of Object.entries(shares)) {
    const bar = "█".repeat(Math.round(share * barChars)).padEnd(barChars, "·");
    progress(`  ${name.padEnd(width)} ${bar} ${(share * 100).toFixed(1)} %`);
  }
}
