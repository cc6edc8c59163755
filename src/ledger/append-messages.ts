import type { Message } from "../domain/message.js";
import { QuireError } from "../errors/quire-error.js";
import type { WriteKey } from "../storage/stored-answers.js";
import type { BegunTurn } from "./begin-turn.js";
import { extendState } from "./check-messages.js";
import type { LedgerDeps } from "./deps.js";
import { OpenState } from "./open-state.js";
import { requireOpen } from "./open-turn.js";
import {
  type AnsweredAssembly,
  draftMessages,
  locate,
  messageRow,
  pinOf,
  withMessages,
} from "./turn-draft.js";
import { viewTurn } from "./views.js";

export interface AppendMessages {
  readonly turnId: string;
  readonly messages: readonly Message[];
  readonly expectedMessageCount?: number | undefined;
  /** The assembly that the messages answer to, if it is another than the turn's. */
  readonly assembly?: AnsweredAssembly | undefined;
  /** What the caller should know of them. */
  readonly warnings?: readonly string[] | undefined;
}

/** Adds messages to an open turn. */
export async function appendMessages(
  deps: LedgerDeps,
  key: WriteKey<BegunTurn>,
  command: AppendMessages,
  signal?: AbortSignal,
): Promise<BegunTurn> {
  const located = locate(command.messages, "messages");
  const draft = await draftMessages(deps, located, signal);
  return deps.writer.write({
    key,
    createdUs: draft.nowUs,
    bytes: draft.bytes,
    signal,
    target: { kind: "turn", turnId: command.turnId, withMessages: false },
    plan: (found) => {
      const before = requireOpen(found.turn, command.turnId);
      const { expectedMessageCount } = command;
      if (expectedMessageCount !== undefined && expectedMessageCount !== before.messageCount) {
        throw new QuireError(
          "MESSAGE_COUNT_MISMATCH",
          `the turn has ${before.messageCount} messages, not ${expectedMessageCount}`,
          { metadata: { turn_id: before.id, message_count: String(before.messageCount) } },
        );
      }
      const state = OpenState.parse(before.openStateJson);
      extendState(state, located);
      const turn = withMessages(before, draft, state);
      return {
        turn,
        messages: messageRow(draft, turn, before.messageCount, state),
        pin: pinOf(turn, command.assembly),
        answer: { turn: viewTurn(turn), messageIds: draft.ids, warnings: command.warnings ?? [] },
      };
    },
  });
}
