import type { JsonSlice } from "../../domain/json-slice.js";
import type { TokenUsage } from "../../domain/turn.js";

/** OpenAI's input counts include what was cached. Its two formats have two names for each. */
export function openaiUsage(usage: JsonSlice | undefined): TokenUsage | undefined {
  if (!usage) return undefined;
  const input = usage.field("input_tokens_details", "prompt_tokens_details");
  const output = usage.field("output_tokens_details", "completion_tokens_details");
  return {
    inputTokens: usage.countAt("input_tokens", "prompt_tokens"),
    outputTokens: usage.countAt("output_tokens", "completion_tokens"),
    // Some servers that speak Chat Completions count it beside the others.
    cachedInputTokens: input?.countAt("cached_tokens") ?? usage.countAt("prompt_cache_hit_tokens"),
    cacheWriteTokens: input?.countAt("cache_write_tokens") ?? 0,
    reasoningTokens: output?.countAt("reasoning_tokens") ?? 0,
  };
}
