import type { Message } from "../domain/message.js";
import type { ReadAnswer, TokenUsage } from "../domain/turn.js";
import type { Warning } from "../domain/warning.js";
import { QuireError } from "../errors/quire-error.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { OpenState } from "../thread/open-state.js";
import type { BegunTurn } from "./begin-turn.js";
import { extendState } from "./check-messages.js";
import type { LedgerDeps } from "./deps.js";
import { type Answered, readAnswer, withAnswered, withCallIds } from "./model-answer.js";
import { reportedCalls, withCalls } from "./model-calls.js";
import { requireOpen } from "./open-turn.js";
import {
  type AnsweredAssembly,
  draftMessages,
  locate,
  messageRow,
  pinOf,
  warningsOf,
  withMessages,
} from "./turn-draft.js";
import { viewTurn } from "./views.js";

export interface AppendMessages extends Answered {
  readonly turnId: string;
  readonly messages: readonly Message[];
  readonly expectedMessageCount?: number | undefined;
  /** What the model call that the messages come from cost. */
  readonly usage?: TokenUsage | undefined;
  /** The assembly that the messages are said to answer to, if it is another than the turn's. */
  readonly assemblyId?: string | undefined;
  /** That assembly, where it is known. */
  readonly assembly?: AnsweredAssembly | undefined;
  /** What the caller should know of them. */
  readonly warnings?: readonly Warning[] | undefined;
}

export interface AppendedMessages extends BegunTurn {
  readonly answer: ReadAnswer | undefined;
}

/** Adds messages to an open turn. */
export async function appendMessages(
  deps: LedgerDeps,
  key: WriteKey<AppendedMessages>,
  command: AppendMessages,
  signal?: AbortSignal,
): Promise<AppendedMessages> {
  const located = withAnswered(locate(command.messages, "messages"), command);
  const drafted = await draftMessages(deps, located, signal);
  return deps.writer.write({
    key,
    createdUs: drafted.nowUs,
    bytes: drafted.bytes,
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
      const draft = withCallIds(drafted, before.id, before.messageCount);
      extendState(state, draft.located);
      const reported = reportedCalls(command, command);
      const { turn, calls } = withCalls(withMessages(before, draft, state), reported, draft.nowUs, "usage");
      return {
        turn,
        calls,
        messages: messageRow(draft, turn, before.messageCount, state),
        pin: pinOf(turn, command.assembly),
        answer: {
          turn: viewTurn(turn),
          messageIds: draft.ids,
          warnings: warningsOf(turn, command),
          answer: readAnswer(draft, command),
        },
      };
    },
  });
}
