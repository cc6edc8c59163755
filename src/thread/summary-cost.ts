import { countedTokens, plus } from "../domain/token-units.js";
import { messageOverheadTokens } from "./message-overhead.js";
import type { CutLimits } from "./window-cut.js";

/** What a summary costs at the beginning of history, as it is counted. */
export function summaryCost(summary: { readonly summaryTokens: number } | undefined): CutLimits {
  return summary
    ? { tokens: plus(countedTokens(summary.summaryTokens), messageOverheadTokens), messages: 1 }
    : { tokens: countedTokens(0), messages: 0 };
}
