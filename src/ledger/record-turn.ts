import type { Message } from "../domain/message.js";
import { HeadMoveCause, type OnHeadMoved } from "../domain/session.js";
import {
  type AgentResult,
  emptyTurnDetails,
  type Turn,
  type TurnDetails,
  TurnStatus,
} from "../domain/turn.js";
import { QuireError } from "../errors/quire-error.js";
import { sessionNotFound } from "../storage/ledger/session-store.js";
import type { TurnChange, TurnState } from "../storage/ledger/write-turns.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { checkEnd, extendState } from "./check-messages.js";
import type { LedgerDeps } from "./deps.js";
import {
  type AnsweredAssembly,
  draftMessages,
  guardParent,
  locate,
  messageRow,
  newTurn,
  pinOf,
  placeTurn,
  stateUnder,
  withMessages,
  withResult,
} from "./turn-draft.js";
import { viewTurn } from "./views.js";

export interface RecordTurn {
  readonly session: string;
  readonly parentTurnId: string;
  readonly onHeadMoved: OnHeadMoved;
  readonly details: TurnDetails | undefined;
  readonly messages: readonly Message[];
  readonly result: AgentResult | undefined;
  readonly status: TurnStatus;
  readonly abandonOpenItems: boolean;
  /** The assembly that the turn says it answers to. */
  readonly assemblyId?: string | undefined;
  /** That assembly, where it is known. */
  readonly assembly?: AnsweredAssembly | undefined;
  /** What the caller should know of the turn. */
  readonly warnings?: readonly string[] | undefined;
}

export interface RecordedTurn {
  readonly turn: Turn | undefined;
  readonly messageIds: readonly string[];
  readonly headTurnId: string;
  readonly branched: boolean;
  readonly warnings: readonly string[];
}

/** Writes a whole turn: the turn, its messages, the session's new head and the head log. */
export async function recordTurn(
  deps: LedgerDeps,
  key: WriteKey<RecordedTurn>,
  command: RecordTurn,
  signal?: AbortSignal,
): Promise<RecordedTurn> {
  const located = [
    ...locate(command.messages, "messages"),
    ...locate(command.result?.messages ?? [], "result.messages"),
  ];
  if (located.length === 0) {
    throw QuireError.field(
      "INVALID_FIELD",
      "messages",
      "is empty, and so is result.messages: a turn needs a message",
    );
  }
  const draft = await draftMessages(deps, located, signal);
  const turnId = deps.ids.next();
  const { warnings = [] } = command;
  const status = command.status === TurnStatus.UNSPECIFIED ? TurnStatus.COMPLETED : command.status;

  const plan = (found: TurnState): TurnChange<RecordedTurn> => {
    const { session, parent } = found;
    if (!session) throw sessionNotFound(command.session);
    guardParent(found, session, command.parentTurnId, command.onHeadMoved);
    const state = stateUnder(parent, command.abandonOpenItems);
    extendState(state, located);
    checkEnd(state, status, located.at(-1)!.field);
    const details = command.details ?? emptyTurnDetails;
    const begun = newTurn(
      key.tenantId,
      turnId,
      session.id,
      command.parentTurnId,
      details,
      draft.nowUs,
      command.assemblyId ?? "",
    );
    const wire = messageRow(draft, begun, 0, state)!;
    const ended = withResult(
      withMessages(begun, draft, state),
      status,
      command.result,
      state,
      [wire.wire],
      draft.nowUs,
    );
    if (status === TurnStatus.FAILED) {
      return {
        turn: ended,
        messages: wire,
        answer: {
          turn: viewTurn(ended),
          messageIds: draft.ids,
          headTurnId: session.headTurnId ?? "",
          branched: false,
          warnings,
        },
      };
    }
    const { turn, branch, headMove, branched } = placeTurn(
      ended,
      session,
      found,
      HeadMoveCause.RECORDED,
      deps.ids,
    );
    return {
      turn,
      messages: { ...wire, branchId: turn.branchId, depth: turn.depth },
      branch,
      headMove,
      pin: headMove && pinOf(turn, command.assembly),
      answer: {
        turn: viewTurn(turn),
        messageIds: draft.ids,
        headTurnId: headMove ? turn.id : (session.headTurnId ?? ""),
        branched,
        warnings,
      },
    };
  };

  const answer = await deps.writer.write({
    key,
    createdUs: draft.nowUs,
    bytes: draft.bytes,
    signal,
    target: { kind: "session", session: command.session, parentTurnId: command.parentTurnId },
    plan,
  });
  deps.watches.moved(key.tenantId, answer.turn!.sessionId);
  return answer;
}
