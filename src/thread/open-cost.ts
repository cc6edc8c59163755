import { ElidedContent } from "../domain/message.js";
import { type CountedTokens, countedTokens, plus } from "../domain/token-units.js";
import { countTokens } from "../tokens/count-tokens.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { elidableParts } from "./elidable-parts.js";
import { bytesOf } from "./history-bytes.js";
import { decodeMessages } from "./message-codec.js";
import { MessageFlag } from "./message-index.js";
import { messageOverheadTokens } from "./message-overhead.js";
import type { ShownTurn } from "./shown-turn.js";
import { unansweredTokens } from "./unanswered.js";

/** What the calls cost that wait for an answer at the end of turns, newest first, with the results that are made up for them: all that cannot be left out. */
export async function openCost(
  counter: TokenCounter,
  newestFirst: readonly ShownTurn[],
): Promise<CountedTokens> {
  const newest = newestFirst[0];
  let tokens = newest ? unansweredTokens(newest) : countedTokens(0);
  const open = new Set(newest?.unanswered);
  for (const turn of newestFirst) {
    for (const facts of turn.facts.messages.toReversed()) {
      if (open.size === 0) return tokens;
      if ((facts.flags & MessageFlag.TOOL_CALL) === 0) continue;
      const { parts } = decodeMessages(bytesOf(turn, facts))[0]!;
      let isCounted = false;
      for (const part of await elidableParts(counter, turn, facts)) {
        const content = parts[part.partIndex]?.content;
        if (part.content !== ElidedContent.TOOL_ARGUMENTS || content?.$case !== "toolCall") continue;
        if (!open.delete(part.callId)) continue;
        const name = countTokens(content.value.name, turn.vocabulary);
        tokens = plus(tokens, plus(part.tokens, name));
        if (!isCounted) tokens = plus(tokens, messageOverheadTokens);
        isCounted = true;
      }
    }
  }
  return tokens;
}
