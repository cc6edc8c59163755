import type { CountedTokens } from "../domain/token-units.js";
/** A turn by its weight. */
export interface WeighedTurn {
  readonly depth: number;
  readonly tokens: CountedTokens;
  readonly messages: number;
  /** Whether history may begin with it: its first message is a user's, and answers nothing of the turn before. */
  readonly startsClean: boolean;
}

export interface CutLimits {
  readonly tokens: CountedTokens;
  readonly messages: number;
}

/** How much of its room a history keeps at least when it is cut: what is between is the slack in which the cut stays where it is. */
const keptShare = 0.5;

/**
 * Where history begins: the index of its first turn, for turns given newest first. Undefined when not even the
 * newest turn fits.
 *
 * The cut must not move with every turn, or no prompt cache would ever hit, and it must not depend on anything but the
 * thread. Of all the turns at which history would fill between half and all of its room, it takes the one whose depth divides by
 * the highest power of two. As the thread grows that stays the same turn until it no longer fits.
 */
export function chooseCut(
  newestFirst: readonly WeighedTurn[],
  limits: CutLimits,
  wholeThread: boolean,
): number | undefined {
  let tokens = 0;
  let messages = 0;
  let furthest: number | undefined;
  let best: number | undefined;
  let bestRank = -1;
  for (let index = 0; index < newestFirst.length; index++) {
    const turn = newestFirst[index]!;
    tokens += turn.tokens;
    messages += turn.messages;
    if (tokens > limits.tokens || messages > limits.messages) break;
    if (!turn.startsClean) continue;
    furthest = index;
    const rank = trailingZeros(turn.depth - 1);
    const isFullEnough = tokens >= limits.tokens * keptShare || messages >= limits.messages * keptShare;
    if (isFullEnough && rank >= bestRank) {
      best = index;
      bestRank = rank;
    }
  }
  const all = newestFirst.length - 1;
  if (wholeThread && furthest === all) return all;
  return best ?? furthest;
}

/** How often a depth divides by two; the first turn counts as the roundest of all. */
function trailingZeros(value: number): number {
  return value === 0 ? 32 : 31 - Math.clz32(value & -value);
}
