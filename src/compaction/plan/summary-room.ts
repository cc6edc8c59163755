import type { CountedTokens } from "../../domain/token-units.js";

/** Below this a summary says nothing. */
export const leastSummaryTokens = 24;
const mostSummaryTokens = 8_192;
/** At equal size a context that gives its summary so much of its room says the most of what the next steps need (`npm run bench needed`). */
const summaryShare = 0.4;
const shortThread = { tokens: 512, share: 0.4 } as const;
const leastShare = 0.2;

/**
 * What a summary may cost where nobody says, and what it has where the last turns need its room: shares of what history should come down to.
 * Without such a target, more of what is short.
 */
export function summaryRooms(targetTokens: CountedTokens, wholeTokens: CountedTokens): readonly number[] {
  const shares = Number.isFinite(targetTokens)
    ? [summaryShare * targetTokens, leastShare * targetTokens]
    : [Math.max(leastShare * wholeTokens, Math.min(shortThread.tokens, shortThread.share * wholeTokens))];
  return shares.map((share) => Math.min(mostSummaryTokens, Math.max(leastSummaryTokens, Math.floor(share))));
}
