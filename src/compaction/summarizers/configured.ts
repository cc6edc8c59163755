import type { Config, ConfigKey } from "../../config/options.js";
import type { CountTokens } from "../plan/summary-task.js";
import { anthropicSummarizer } from "./anthropic.js";
import { openaiSummarizer } from "./openai.js";
import type { PriceTranscript } from "./recursive.js";
import type { Summarizer } from "./summarizer.js";

export type SummarizerSettings = Pick<Config, Extract<ConfigKey, `summarizer${string}`>>;

/**
 * The endpoints that the settings name, by name. One is there when its model is set. `chunkTokens` is what of a
 * conversation one call gets at most, in o200k tokens; 0 for as much as fits.
 */
export function configuredSummarizers(
  settings: SummarizerSettings,
  count: CountTokens,
  chunkTokens = 0,
  transcript?: PriceTranscript,
): ReadonlyMap<string, Summarizer> {
  const shared = {
    timeoutMs: settings.summarizerTimeoutMs,
    retries: settings.summarizerRetries,
    windowTokens: settings.summarizerWindowTokens,
    maxInputTokens: settings.summarizerMaxInputTokens,
    chunkTokens,
    count,
    transcript,
  };
  const summarizers: Summarizer[] = [];
  if (settings.summarizerOpenaiModel)
    summarizers.push(
      openaiSummarizer({
        ...shared,
        baseUrl: settings.summarizerOpenaiUrl,
        model: settings.summarizerOpenaiModel,
        apiKey: settings.summarizerOpenaiKey,
      }),
    );
  if (settings.summarizerAnthropicModel)
    summarizers.push(
      anthropicSummarizer({
        ...shared,
        baseUrl: settings.summarizerAnthropicUrl,
        model: settings.summarizerAnthropicModel,
        apiKey: settings.summarizerAnthropicKey,
      }),
    );
  return new Map(summarizers.map((summarizer) => [summarizer.name, summarizer]));
}
