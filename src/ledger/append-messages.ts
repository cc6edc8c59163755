import type { Message } from "../domain/message.js";
import type { ReadAnswer, TokenUsage, TurnDetails } from "../domain/turn.js";
import type { Warning } from "../domain/warning.js";
import { QuireError } from "../errors/quire-error.js";
import type { LockedSession } from "../storage/ledger/lock-sessions.js";
import type { SessionLease } from "../storage/ledger/rows.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { OpenState } from "../thread/open-state.js";
import type { BegunTurn } from "./begin-turn.js";
import { extendState } from "./check-messages.js";
import type { LedgerDeps } from "./deps.js";
import { leaseUntil } from "./lease.js";
import { type Answered, readAnswer, withAnswered, withCallIds } from "./model-answer.js";
import { reportedCalls, withCalls } from "./model-calls.js";
import { requireOpen } from "./open-turn.js";
import {
  type AnsweredAssembly,
  asAnswer,
  draftMessages,
  locate,
  messageRow,
  pinOf,
  warningsOf,
  withAssembly,
  withMessages,
  withTold,
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
  /** What is known of the turn by that assembly, if it is the turn's first. */
  readonly details?: TurnDetails | undefined;
  /** What the caller should know of them. */
  readonly warnings?: readonly Warning[] | undefined;
}

export interface AppendedMessages extends BegunTurn {
  readonly answer: ReadAnswer | undefined;
}

/** The session's lease, if the turn has it, for its whole time again. */
function renewed(session: LockedSession | undefined, turnId: string): SessionLease | undefined {
  if (!session || session.leaseTurnId !== turnId) return undefined;
  const { nowUs, leaseTurnId, leaseSeconds, leaseHolder } = session;
  const leaseExpiresUs = leaseUntil(nowUs, leaseSeconds!);
  return { leaseTurnId, leaseExpiresUs, leaseSeconds, leaseHolder };
}

/** Adds messages to an open turn. */
export async function appendMessages(
  deps: LedgerDeps,
  key: WriteKey<AppendedMessages>,
  command: AppendMessages,
  signal?: AbortSignal,
): Promise<AppendedMessages> {
  const answered = withAnswered(locate(command.messages, "messages"), command);
  const located = withTold(answered, command.assembly);
  const drafted = await draftMessages(deps, located, signal);
  return deps.writer.write({
    key,
    createdUs: drafted.nowUs,
    bytes: drafted.bytes,
    signal,
    target: { kind: "turn", turnId: command.turnId, withMessages: false },
    plan: (found) => {
      const before = withAssembly(requireOpen(found.turn, command.turnId), command);
      const { expectedMessageCount } = command;
      if (expectedMessageCount !== undefined && expectedMessageCount !== before.messageCount) {
        throw new QuireError(
          "MESSAGE_COUNT_MISMATCH",
          `the turn has ${before.messageCount} messages, not ${expectedMessageCount}`,
          { metadata: { turn_id: before.id, message_count: String(before.messageCount) } },
        );
      }
      const state = OpenState.parse(before.openStateJson);
      const withIds = withCallIds(drafted, before.id, before.messageCount);
      const draft = asAnswer(withIds, before, state, command.assembly);
      extendState(state, draft.located);
      const reported = reportedCalls(command, command);
      const { turn, calls } = withCalls(withMessages(before, draft, state), reported, draft.nowUs, "usage");
      return {
        turn,
        calls,
        messages: messageRow(draft, turn, before.messageCount, state),
        lease: renewed(found.session, turn.id),
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
