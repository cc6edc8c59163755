import type { Message } from "../domain/message.js";
import { emptyTurnDetails, type Turn, type TurnDetails } from "../domain/turn.js";
import type { Warning } from "../domain/warning.js";
import { sessionNotFound } from "../storage/ledger/session-store.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { extendState } from "./check-messages.js";
import type { LedgerDeps } from "./deps.js";
import { type Answered, withAnswered } from "./model-answer.js";
import {
  type AnsweredAssembly,
  draftMessages,
  locate,
  messageRow,
  type NewTurn,
  newTurn,
  pinOf,
  settleParent,
  stateUnder,
  warningsOf,
  withMessages,
} from "./turn-draft.js";
import { viewTurn } from "./views.js";

export interface BeginTurn extends NewTurn, Answered {
  readonly details: TurnDetails | undefined;
  readonly messages: readonly Message[];
  readonly abandonOpenItems: boolean;
  /** The assembly that the turn says it answers to. */
  readonly assemblyId?: string | undefined;
  /** That assembly, where it is known. */
  readonly assembly?: AnsweredAssembly | undefined;
  /** What the caller should know of the turn. */
  readonly warnings?: readonly Warning[] | undefined;
}

export interface BegunTurn {
  readonly turn: Turn | undefined;
  readonly messageIds: readonly string[];
  readonly warnings: readonly Warning[];
}

/** Opens a turn that is written step by step. It is in no history, and moves no head, until it is completed. */
export async function beginTurn(
  deps: LedgerDeps,
  key: WriteKey<BegunTurn>,
  command: BeginTurn,
  signal?: AbortSignal,
): Promise<BegunTurn> {
  const located = withAnswered(locate(command.messages, "messages"), command);
  const draft = await draftMessages(deps, located, signal);
  const turnId = deps.ids.next();
  return deps.writer.write({
    key,
    createdUs: draft.nowUs,
    bytes: draft.bytes,
    signal,
    target: { kind: "session", session: command.session, parentTurnId: command.parentTurnId },
    plan: (found) => {
      const { session, parent } = found;
      if (!session) throw sessionNotFound(command.session);
      const parentTurnId = settleParent(found, session, command);
      const state = stateUnder(parent, command.abandonOpenItems);
      extendState(state, located);
      const details = command.details ?? emptyTurnDetails;
      const begun = newTurn(
        key.tenantId,
        turnId,
        session.id,
        parentTurnId,
        details,
        draft.nowUs,
        command.assemblyId ?? "",
      );
      const turn = withMessages(begun, draft, state);
      return {
        turn,
        messages: messageRow(draft, turn, 0, state),
        pin: pinOf(turn, command.assembly),
        answer: { turn: viewTurn(turn), messageIds: draft.ids, warnings: warningsOf(turn, command) },
      };
    },
  });
}
