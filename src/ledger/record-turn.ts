import { HeadMoveCause } from "../domain/session.js";
import { type AgentResult, type ReadAnswer, TurnStatus } from "../domain/turn.js";
import { QuireError } from "../errors/quire-error.js";
import type { TurnChange, TurnState } from "../storage/ledger/write-turns.js";
import type { WriteKey } from "../storage/stored-answers.js";
import type { BeginTurn, BegunTurn } from "./begin-turn.js";
import { checkEnd, extendState } from "./check-messages.js";
import type { LedgerDeps } from "./deps.js";
import { endOf, readAnswer, withAnswered, withCallIds } from "./model-answer.js";
import { reportedCalls, withCalls } from "./model-calls.js";
import {
  draftMessages,
  locate,
  messageRow,
  pinOf,
  placeTurn,
  startTurn,
  warningsOf,
  withMessages,
  withResult,
} from "./turn-draft.js";
import { viewTurn } from "./views.js";

export interface RecordTurn extends BeginTurn {
  readonly result: AgentResult | undefined;
  readonly status: TurnStatus;
}

export interface RecordedTurn extends BegunTurn {
  readonly headTurnId: string;
  readonly branched: boolean;
  readonly answer: ReadAnswer | undefined;
}

/** Writes a whole turn: the turn, its messages, the session's new head and the head log. */
export async function recordTurn(
  deps: LedgerDeps,
  key: WriteKey<RecordedTurn>,
  command: RecordTurn,
  signal?: AbortSignal,
): Promise<RecordedTurn> {
  const given = [
    ...locate(command.messages, "messages"),
    ...locate(command.result?.messages ?? [], "result.messages"),
  ];
  const located = withAnswered(given, command);
  if (located.length === 0) {
    throw QuireError.field(
      "INVALID_FIELD",
      "messages",
      "is empty, and so is result.messages: a turn needs a message",
    );
  }
  const turnId = deps.ids.next();
  const draft = withCallIds(await draftMessages(deps, located, signal), turnId, 0);
  const read = readAnswer(draft, command);

  const plan = (found: TurnState): TurnChange<RecordedTurn> => {
    const { session, turn: begun, state } = startTurn(found, command, key.tenantId, turnId, draft.nowUs);
    extendState(state, draft.located);
    const status = endOf(command.status, command, state);
    checkEnd(state, status, located.at(-1)!.field);
    const warnings = warningsOf(begun, command);
    const wire = messageRow(draft, begun, 0, state)!;
    const reported = reportedCalls(command.result ?? {}, command);
    const { turn: charged, calls } = withCalls(
      withMessages(begun, draft, state),
      reported,
      draft.nowUs,
      "result.usage",
    );
    const ended = withResult(charged, status, command.result, state, [wire.wire], draft.nowUs);
    if (status === TurnStatus.FAILED) {
      return {
        turn: ended,
        messages: wire,
        calls,
        answer: {
          turn: viewTurn(ended),
          messageIds: draft.ids,
          headTurnId: session.headTurnId ?? "",
          branched: false,
          warnings,
          answer: read,
        },
      };
    }
    const { turn, branch, headMove, branched, lease } = placeTurn(
      ended,
      session,
      found,
      HeadMoveCause.RECORDED,
      deps.ids,
    );
    return {
      turn,
      messages: { ...wire, branchId: turn.branchId, depth: turn.depth },
      calls,
      branch,
      headMove,
      lease,
      pin: headMove && pinOf(turn, command.assembly),
      answer: {
        turn: viewTurn(turn),
        messageIds: draft.ids,
        headTurnId: headMove ? turn.id : (session.headTurnId ?? ""),
        branched,
        warnings,
        answer: read,
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
