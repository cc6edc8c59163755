import type { Message } from "../domain/message.js";
import type { Turn } from "../domain/turn.js";
import type { Warning } from "../domain/warning.js";
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
  pinOf,
  startTurn,
  warningsOf,
  withMessages,
} from "./turn-draft.js";
import { viewTurn } from "./views.js";

export interface BeginTurn extends NewTurn, Answered {
  readonly messages: readonly Message[];
  /** The assembly that it answers to, where it is known. */
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
      const { turn: begun, state } = startTurn(found, command, key.tenantId, turnId, draft.nowUs);
      extendState(state, located);
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
