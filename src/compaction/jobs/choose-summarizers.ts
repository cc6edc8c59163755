import type { CompactionSettings } from "../../capsule/context-settings.js";
import type { SummarizerFailure } from "../../domain/compaction.js";
import { CompressionStrategy } from "../../domain/context-settings.js";
import type { Offload } from "../../offload/offload.js";
import type { Summarizer } from "../summarizers/summarizer.js";
import type { SummarizerSet } from "../summarizers/summarizer-set.js";
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

/** Who makes the summary, by strategy and settings. */
export function chooseSummarizers(
  { summarizers: configured, offload }: { readonly summarizers: SummarizerSet; readonly offload: Offload },
  settings: CompactionSettings,
  mayAskEngine: boolean,
): ChosenSummarizers {
  const own = ofStrategy(offload, settings);
  if (own) return { summarizers: [own], asksEngine: false, missing: [] };
  const engineAt = mayAskEngine ? settings.summarizers.indexOf(engineName) : -1;
  const asked = engineAt < 0 ? settings.summarizers : settings.summarizers.slice(0, engineAt);
  const named = asked.filter((name) => name !== engineName);
  const options = { model: settings.summarizationModel, chunkTokens: settings.chunkTokens };
  const found = named.map((name) => ({ name, summarizer: configured.find(name, options) }));
  const summarizers = found.flatMap(({ summarizer }) => summarizer ?? []);
  const missing = found
    .filter(({ summarizer }) => !summarizer)
    .map(({ name }) => ({ summarizer: name, reason: "is not configured on this server" }));
  const asksEngine = engineAt >= 0;
  // Whoever wants the engine's summaries alone still wants one when it cannot be asked.
  if (settings.summarizers.length > 0 && summarizers.length === 0 && !asksEngine && named.length === 0) {
    return { summarizers: [configured.find("extractive", options)!], asksEngine, missing };
  }
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
