import type { CacheBreakpoint } from "./render-input.js";

/** How a provider's prompt cache works. Prices are shares of the price of an input token. */
export interface CacheRules {
  readonly kind: "breakpoints" | "prefix" | "none";
  readonly minTokens: number;
  readonly maxBreakpoints: number;
  readonly stepTokens: number;
  readonly ttlSeconds: number;
  readonly writePrice: number;
  readonly readPrice: number;
}

/** What a context and the one before it have in common. */
export type SharedPart = "nothing" | "tools" | "system" | "history";

export interface CachePlanInput {
  readonly rules: CacheRules;
  readonly toolsTokens: number;
  readonly systemTokens: number;
  /** What each message costs: history, then the current message. */
  readonly messageTokens: readonly number[];
  /** How many of the messages the provider was sent before, in the same form. */
  readonly sentBefore: number;
  /** How many of the messages the next context will begin with. */
  readonly sentNext: number;
  /** What is the same as in the context before, if the provider still has that. */
  readonly shared: SharedPart;
}

/** A breakpoint, with what comes before it. */
export type PlannedBreakpoint = CacheBreakpoint & { readonly prefixTokens: number };

export interface PlannedCache {
  readonly breakpoints: readonly PlannedBreakpoint[];
  readonly readTokens: number;
  readonly writeTokens: number;
  readonly freshTokens: number;
  /** In input tokens at full price. */
  readonly cost: number;
  readonly costWithoutCache: number;
}

/**
 * Where a provider is asked to keep a context, and what it will read, write and take fresh.
 *
 * Marks stand after the tools, after the system prompt, where the context before ended, and where this one ends. The third is where the fourth was in the
 * request before, so what was written then is found by an exact match, however much a tool loop put between: no look-back is needed.
 */
export function planCache(input: CachePlanInput): PlannedCache {
  const { rules, toolsTokens, systemTokens, messageTokens, sentBefore, sentNext, shared } = input;
  const prefixes = prefixSums(toolsTokens + systemTokens, messageTokens);
  const total = prefixes.at(-1)!;
  const kept = (tokens: number) => (tokens >= rules.minTokens ? tokens - (tokens % rules.stepTokens) : 0);
  const common = {
    nothing: 0,
    tools: toolsTokens,
    system: toolsTokens + systemTokens,
    history: prefixes[sentBefore]!,
  }[shared];
  const readTokens = rules.kind === "none" ? 0 : kept(common);
  const breakpoints = rules.kind === "breakpoints" ? placed(input, prefixes) : [];
  const writtenTo = breakpoints.at(-1)?.prefixTokens ?? 0;
  const writeTokens = Math.max(0, writtenTo - readTokens);
  const freshTokens = total - readTokens - writeTokens;
  return {
    breakpoints,
    readTokens,
    writeTokens,
    freshTokens,
    cost: readTokens * rules.readPrice + writeTokens * rules.writePrice + freshTokens,
    costWithoutCache: total,
  };

  function placed(
    { rules: { ttlSeconds, minTokens, maxBreakpoints } }: CachePlanInput,
    sums: readonly number[],
  ) {
    const afterMessage = (count: number): PlannedBreakpoint[] =>
      count === 0
        ? []
        : [{ after: "message", messageIndex: count - 1, ttlSeconds, prefixTokens: sums[count]! }];
    const wanted: PlannedBreakpoint[] = [
      ...(toolsTokens > 0 ? [{ after: "tools" as const, ttlSeconds, prefixTokens: toolsTokens }] : []),
      ...(systemTokens > 0
        ? [{ after: "system" as const, ttlSeconds, prefixTokens: toolsTokens + systemTokens }]
        : []),
      ...(shared === "history" && sentBefore < sentNext ? afterMessage(sentBefore) : []),
      ...afterMessage(sentNext),
    ];
    // What a provider would not keep is not asked for; of too many the first say least.
    const worth = wanted.filter(({ prefixTokens }) => prefixTokens >= minTokens);
    return worth.slice(Math.max(0, worth.length - maxBreakpoints));
  }
}

function prefixSums(before: number, tokens: readonly number[]): number[] {
  let sum = before;
  const sums = [sum];
  for (const own of tokens) {
    sum += own;
    sums.push(sum);
  }
  return sums;
}
