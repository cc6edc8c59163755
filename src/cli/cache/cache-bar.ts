import type { CachePlan } from "../../contract/gen/quire/v1/prompt_cache.js";
import type { Paint } from "../terminal/style.js";

/** The input of a call by what a prompt cache did for it, in tokens. */
export interface CacheSplit {
  readonly read: number;
  readonly written: number;
  readonly fresh: number;
}

export const barLegend = "█ read, ▓ written, ░ fresh";

export function splitOf({ readTokens, writeTokens, freshTokens }: CachePlan): CacheSplit {
  return { read: readTokens, written: writeTokens, fresh: freshTokens };
}

export function sumOf({ read, written, fresh }: CacheSplit): number {
  return read + written + fresh;
}

/** A bar of at most so many cells, all of which are `whole` tokens. What is not nothing has at least one cell, as long as there is room. */
export function cacheBar(paint: Paint, split: CacheSplit, whole: number, width: number): string {
  const cells = (tokens: number) =>
    tokens > 0 && whole > 0 ? Math.max(1, Math.round((tokens / whole) * width)) : 0;
  const read = Math.min(width, cells(split.read));
  const written = Math.min(width - read, cells(split.written));
  const all = Math.max(read + written, cells(sumOf(split)));
  const fresh = split.fresh > 0 ? Math.min(width, all) - read - written : 0;
  return (
    paint("green", "█".repeat(read)) +
    paint("yellow", "▓".repeat(written)) +
    paint("dim", "░".repeat(Math.max(0, fresh)))
  );
}
