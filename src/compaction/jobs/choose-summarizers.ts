import type { CompactionSettings } from "../../capsule/context-settings.js";
import type { SummarizerFailure } from "../../domain/compaction.js";
import { CompressionStrategy } from "../../domain/context-settings.js";
import type { Offload } from "../../offload/offload.js";
import type { Summarizer } from "../summarizers/summarizer.js";
import type { SummarizerSet } from "../summarizers/summarizer-set.js";
import { statedSummarizer } from "./beside-state.js";
import { embeddedSummarizer } from "./fold-threads.js";

export interface ChosenSummarizers {
  /** Who is asked, in order. */
  readonly summarizers: readonly Summarizer[];
  /** Whether the engine is asked when none of them gives a summary. */
  readonly asksEngine: boolean;
  /** Those that settings name and the server does not have. */
  readonly missing: readonly SummarizerFailure[];
}

/** The name under which settings ask for the engine's own model. */
export const engineName = "engine";
const extractiveName = "extractive";

/** Who makes the summary, by strategy and settings. */
export function chooseSummarizers(
  { summarizers: configured, offload }: { readonly summarizers: SummarizerSet; readonly offload: Offload },
  settings: CompactionSettings,
  mayAskEngine: boolean,
): ChosenSummarizers {
  const own = ofStrategy(offload, settings);
  if (own) return { summarizers: [own], asksEngine: false, missing: [] };
  const named = settings.summarizers.indexOf(engineName);
  const asksEngine = mayAskEngine && named >= 0;
  const asked = asksEngine
    ? settings.summarizers.slice(0, named)
    : settings.summarizers.filter((name) => name !== engineName);
  // Whoever wants the engine's summaries still wants one when it cannot be asked.
  const standsIn = named >= 0 && !asksEngine && !asked.includes(extractiveName) ? [extractiveName] : [];
  const options = { model: settings.summarizationModel, chunkTokens: settings.chunkTokens };
  const found = [...asked, ...standsIn].map((name) => ({ name, summarizer: configured.find(name, options) }));
  const summarizers = found.flatMap(({ name, summarizer }) => {
    if (!summarizer) return [];
    return [name === extractiveName ? summarizer : statedSummarizer(offload, summarizer)];
  });
  const missing = found
    .filter(({ summarizer }) => !summarizer)
    .map(({ name }) => ({ summarizer: name, reason: "is not configured on this server" }));
  if (named >= 0 && !asksEngine)
    missing.unshift({ summarizer: engineName, reason: "is not asked after an overflow: that must not wait" });
  return { summarizers, asksEngine, missing };
}

/** The strategies that need nobody. */
function ofStrategy(
  offload: Offload,
  { strategy, halfLifeTurns }: CompactionSettings,
): Summarizer | undefined {
  if (strategy === CompressionStrategy.IMPORTANCE)
    return embeddedSummarizer(offload, "importance", "", { kind: "importance" });
  if (strategy === CompressionStrategy.TIME_DECAY)
    return embeddedSummarizer(offload, "time_decay", "", { kind: "time_decay", halfLifeTurns });
  return strategy === CompressionStrategy.TRUNCATE
    ? embeddedSummarizer(offload, "truncate", "", { kind: "truncate" })
    : undefined;
}
