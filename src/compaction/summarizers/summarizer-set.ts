import { Caches } from "../../domain/caches.js";
import { megabyte } from "../../domain/memory-size.js";
import type { CountTokens } from "../plan/summary-task.js";
import { configuredSummarizers, type SummarizerSettings } from "./configured.js";
import type { PriceTranscript } from "./recursive.js";
import type { Summarizer } from "./summarizer.js";

/** What a context's settings may ask of a summarizer. */
export interface SummarizerWishes {
  /** The model instead of the configured one; empty for that. */
  readonly model: string;
  /** How much of a conversation it is given at once; undefined for what its window takes. */
  readonly chunkTokens: number | undefined;
}

/** The summarizers that a server has. */
export interface SummarizerSet {
  find(name: string, wishes: SummarizerWishes): Summarizer | undefined;
}

/** The embedded one, and those that the settings name. */
export function summarizerSet(
  settings: SummarizerSettings,
  count: CountTokens,
  embedded: Summarizer,
  transcript?: PriceTranscript,
  caches = new Caches(),
): SummarizerSet {
  const made = caches.create<ReadonlyMap<string, Summarizer>>("summarizers", 8 * megabyte, summarizersBytes);
  return {
    find(name, { model, chunkTokens = 0 }) {
      if (name === embedded.name) return embedded;
      const key = `${chunkTokens} ${model}`;
      let summarizers = made.get(key);
      if (!summarizers) {
        summarizers = configuredSummarizers(withModel(settings, model), count, chunkTokens, transcript);
        made.set(key, summarizers);
      }
      return summarizers.get(name);
    },
  };
}

/** Wishes come from requests; what is made for them is kept for the next of the same. Most of it is the provider's client. */
function summarizersBytes(summarizers: ReadonlyMap<string, Summarizer>): number {
  return 1_000 + summarizers.size * 64 * 1024;
}

/** A model can be wished for only where there is an endpoint for it. */
function withModel(settings: SummarizerSettings, model: string): SummarizerSettings {
  if (model === "") return settings;
  return {
    ...settings,
    ...(settings.summarizerOpenaiModel ? { summarizerOpenaiModel: model } : {}),
    ...(settings.summarizerAnthropicModel ? { summarizerAnthropicModel: model } : {}),
  };
}
