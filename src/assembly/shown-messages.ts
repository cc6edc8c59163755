import { messageOverheadTokens } from "../budget/token-scale.js";
import { MessageRole } from "../domain/message.js";
import { decodeMessages } from "../ledger/message-codec.js";
import type { CompactionRow } from "../storage/ledger/rows.js";
import { type ChosenTurns, summaryCost } from "./choose-turns.js";
import { unansweredTokens } from "./history-bytes.js";
import type { WindowTurn } from "./thread-window.js";

/** A message of the history, as a cache sees it. */
export interface ShownMessage {
  readonly turnId: string;
  readonly isAssistant: boolean;
  readonly o200kTokens: number;
}

/** Every message of the history: the summary, then those of the turns. */
export function shownMessages(
  compaction: CompactionRow | undefined,
  oldestFirst: readonly WindowTurn[],
  { fitted }: ChosenTurns,
  clean: boolean,
): ShownMessage[] {
  const message = (turnId: string, isAssistant: boolean, o200kTokens: number): ShownMessage => ({
    turnId,
    isAssistant,
    o200kTokens,
  });
  const summary = compaction ? [message(compaction.id, false, summaryCost(compaction).tokens)] : [];
  const ofTurn = (turn: WindowTurn): ShownMessage[] => {
    const { turnId } = turn.stored;
    // What was split or elided is no longer what the index says.
    if (fitted) {
      return fitted.piecesOf(turn).flatMap((piece) =>
        decodeMessages(piece).map(({ role, o200kTokens, contextO200kTokens }) => {
          const tokens = o200kTokens + contextO200kTokens + messageOverheadTokens;
          return message(turnId, role === MessageRole.ASSISTANT, tokens);
        }),
      );
    }
    const spoken = turn.facts.messages.filter((facts) => facts.role !== "S");
    return [
      ...spoken.map((facts) =>
        message(turnId, facts.role === "A", clean ? facts.cleanTokens : facts.sentTokens),
      ),
      ...(turn.unanswered.length > 0 ? [message(turnId, false, unansweredTokens(turn))] : []),
    ];
  };
  return [...summary, ...oldestFirst.flatMap(ofTurn)];
}
