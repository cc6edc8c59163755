import type { CompactionRow } from "../../storage/ledger/rows.js";
import { type ShownMessages, shownMessages } from "../../thread/shown-messages.js";
import type { ShownTurn } from "../../thread/shown-turn.js";
import { summaryCost } from "../../thread/summary-cost.js";
import type { ChosenTurns } from "../history/choose-turns.js";

/** Every message of the history, turn by turn: the summary, then those of the turns. */
export function historyMessages(
  compaction: CompactionRow | undefined,
  oldestFirst: readonly ShownTurn[],
  { fitted }: ChosenTurns,
  clean: boolean,
): ShownMessages[] {
  const shown: ShownMessages[] = [];
  if (compaction) {
    const o200kTokens = [summaryCost(compaction).tokens];
    shown.push({ turnId: compaction.id, o200kTokens, firstAnswer: -1, lastAnswer: -1 });
  }
  // What was split or elided is no longer what the index says.
  for (const turn of oldestFirst) shown.push(fitted ? fitted.messagesOf(turn) : shownMessages(turn, clean));
  return shown;
}
