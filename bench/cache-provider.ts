import { countOf, type PromptBlock, type PromptText } from "./cache-body.js";

/** What a provider's cache did with a request, in its tokens. */
export interface CacheUsage {
  readonly input: number;
  readonly read: number;
  readonly written: number;
}

/** A provider's prompt cache, by its published rules. */
export interface ProviderCache {
  request(blocks: readonly PromptBlock[], nowMs: number): CacheUsage;
}

/** A prefix of requests: the blocks on the way to it. */
class Prefix {
  readonly next = new Map<PromptText, Prefix>();
  keptUntilMs = Number.NEGATIVE_INFINITY;

  constructor(readonly tokens: number) {}

  after({ said, tokens }: PromptBlock): Prefix {
    let found = this.next.get(said);
    if (!found) {
      found = new Prefix(this.tokens + tokens);
      this.next.set(said, found);
    }
    return found;
  }
}

function prefixesOf(root: Prefix, blocks: readonly PromptBlock[]): Prefix[] {
  let at = root;
  return blocks.map((block) => {
    at = at.after(block);
    return at;
  });
}

/**
 * Anthropic's: each marked block keeps the prefix that ends with it, if that is long enough. From each marked block, the first kept prefix
 * is looked for over so many positions back, itself included; the longest found is read, and what is used lives on.
 */
export class MarkedCache implements ProviderCache {
  private readonly root = new Prefix(0);

  constructor(
    private readonly rules: {
      readonly minTokens: number;
      readonly maxMarkers: number;
      readonly lookBack: number;
      readonly ttlMs: number;
    },
  ) {}

  request(blocks: readonly PromptBlock[], nowMs: number): CacheUsage {
    const { minTokens, maxMarkers, lookBack, ttlMs } = this.rules;
    const prefixes = prefixesOf(this.root, blocks);
    const input = prefixes.at(-1)?.tokens ?? 0;
    const marked = blocks.flatMap(({ isMarked }, at) => (isMarked ? [at] : []));
    if (marked.length > maxMarkers) throw new Error(`${marked.length} markers: the provider refuses that`);
    const found = marked.map((mark) =>
      prefixes
        .slice(Math.max(0, mark + 1 - lookBack), mark + 1)
        .findLast((prefix) => prefix.keptUntilMs >= nowMs),
    );
    const longest = found.reduce(
      (best, prefix) => ((prefix?.tokens ?? 0) > (best?.tokens ?? 0) ? prefix : best),
      undefined,
    );
    const kept = marked.map((mark) => prefixes[mark]!).filter((prefix) => prefix.tokens >= minTokens);
    for (const prefix of longest ? [...kept, longest] : kept) prefix.keptUntilMs = nowMs + ttlMs;
    const read = longest?.tokens ?? 0;
    return { input, read, written: Math.max(0, (kept.at(-1)?.tokens ?? 0) - read) };
  }
}

/** OpenAI's (before GPT-5.6) and Gemini's: what a request has in common with one that is not too old, in whole steps, if it is long enough. */
export class PrefixCache implements ProviderCache {
  private readonly root = new Prefix(0);

  constructor(
    private readonly rules: {
      readonly minTokens: number;
      readonly stepTokens: number;
      readonly ttlMs: number;
      /** The provider's tokens for one that is counted. */
      readonly ratio: number;
    },
  ) {}

  request(blocks: readonly PromptBlock[], nowMs: number): CacheUsage {
    const { minTokens, stepTokens, ttlMs } = this.rules;
    const common = this.commonTokens(blocks, nowMs);
    const prefixes = prefixesOf(this.root, blocks);
    for (const prefix of prefixes) prefix.keptUntilMs = nowMs + ttlMs;
    const read = common >= minTokens ? common - (common % stepTokens) : 0;
    return { input: prefixes.at(-1)?.tokens ?? 0, read, written: 0 };
  }

  /** Whole blocks, and of the first that differs what is the same at its beginning. */
  private commonTokens(blocks: readonly PromptBlock[], nowMs: number): number {
    let at = this.root;
    for (const block of blocks) {
      const next = at.next.get(block.said);
      if (!next || next.keptUntilMs < nowMs) return at.tokens + this.commonBeginning(at, block.said, nowMs);
      at = next;
    }
    return at.tokens;
  }

  private commonBeginning(at: Prefix, { role, text }: PromptText, nowMs: number): number {
    let longest = 0;
    for (const [other, { keptUntilMs }] of at.next) {
      if (keptUntilMs < nowMs || other.role !== role) continue;
      longest = Math.max(longest, commonChars(other.text, text));
    }
    return countOf(text.slice(0, longest)) * this.rules.ratio;
  }
}

function commonChars(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at;
}
