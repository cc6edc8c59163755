import { extractiveSteps } from "./extractive.js";
import type { CountTokens, Summarizer } from "./summarizer.js";

/** The embedded summarizer: needs no network, costs nothing, and lets others work between its steps. */
export function extractiveSummarizer(count: CountTokens): Summarizer {
  return {
    name: "extractive",
    provider: "quire",
    model: "extractive-1",
    async summarize(task, signal) {
      signal.throwIfAborted();
      const steps = extractiveSteps(task, count);
      for (;;) {
        const { done, value } = steps.next();
        if (done) return { text: value, cost: { inputTokens: 0, outputTokens: 0 } };
        await new Promise<void>((resolve) => setImmediate(resolve));
        signal.throwIfAborted();
      }
    },
  };
}
