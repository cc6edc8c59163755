import { HeadMoveCause, OnHeadMoved } from "../domain/session.js";
import { type AgentResult, type TurnDetails, TurnStatus } from "../domain/turn.js";
import type { Warning } from "../domain/warning.js";
import { QuireError } from "../errors/quire-error.js";
import { noLease, type ParentTurn, type SessionHead, type TurnRow } from "../storage/ledger/rows.js";
import { sessionNotFound } from "../storage/ledger/session-store.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { OpenState } from "../thread/open-state.js";
import { checkEnd, extendState } from "./check-messages.js";
import type { LedgerDeps } from "./deps.js";
import { type Answered, endOf, readAnswer, withAnswered, withCallIds } from "./model-answer.js";
import { reportedCalls, withCalls } from "./model-calls.js";
import { requireOpen } from "./open-turn.js";
import type { RecordedTurn } from "./record-turn.js";
import {
  type AnsweredAssembly,
  asAnswer,
  draftMessages,
  headMoved,
  locate,
  messageRow,
  pinOf,
  placeTurn,
  warningsOf,
  withAssembly,
  withMessages,
  withResult,
  withTold,
} from "./turn-draft.js";
import { viewTurn } from "./views.js";

export interface CompleteTurn extends Answered {
  readonly turnId: string;
  readonly status: TurnStatus;
  readonly result: AgentResult | undefined;
  readonly onHeadMoved: OnHeadMoved;
  /** The assembly that the last messages are said to answer to, if it is another than the turn's. */
  readonly assemblyId?: string | undefined;
  /** That assembly, where it is known. */
  readonly assembly?: AnsweredAssembly | undefined;
  /** What is known of the turn by that assembly, if it is the turn's first. */
  readonly details?: TurnDetails | undefined;
  /** What the caller should know of the turn. */
  readonly warnings?: readonly Warning[] | undefined;
}

/** Finishes an open turn: as the head of its session, on a branch of its own, or as failed. */
export async function completeTurn(
  deps: LedgerDeps,
  key: WriteKey<RecordedTurn>,
  command: CompleteTurn,
  signal?: AbortSignal,
): Promise<RecordedTurn> {
  const answered = withAnswered(locate(command.result?.messages ?? [], "result.messages"), command);
  const located = withTold(answered, command.assembly);
  const drafted = await draftMessages(deps, located, signal);
  const answer = await deps.writer.write({
    key,
    createdUs: drafted.nowUs,
    bytes: drafted.bytes,
    signal,
    target: {
      kind: "turn",
      turnId: command.turnId,
      withMessages: true,
      atHead: command.onHeadMoved === OnHeadMoved.APPEND && command.status !== TurnStatus.FAILED,
    },
    plan: (found) => {
      const open = withAssembly(requireOpen(found.turn, command.turnId), command);
      const { session } = found;
      if (!session) throw sessionNotFound(open.sessionId);
      const state = OpenState.parse(open.openStateJson);
      const withIds = withCallIds(drafted, open.id, open.messageCount);
      const draft = asAnswer(withIds, open, state, command.assembly);
      extendState(state, draft.located);
      const status = endOf(command.status, command, state);
      const read = readAnswer(draft, command);
      if (status !== TurnStatus.FAILED) requirePlace(open, found.parent, located.length);
      const before =
        status === TurnStatus.FAILED ? open : atItsPlace(open, state, session, found.parent, command);
      const warnings = warningsOf(before, command);
      checkEnd(state, status, located.at(-1)?.field ?? "status");
      const written = withMessages(before, draft, state);
      const added = messageRow(draft, written, before.messageCount, state);
      const wires = added ? [...found.wires, added.wire] : found.wires;
      const reported = reportedCalls(command.result ?? {}, command);
      const { turn: charged, calls } = withCalls(written, reported, draft.nowUs, "result.usage");
      const ended = withResult(charged, status, command.result, state, wires, draft.nowUs);
      const headTurnId = session.headTurnId ?? "";
      if (status === TurnStatus.FAILED) {
        const answer = {
          turn: viewTurn(ended),
          messageIds: draft.ids,
          headTurnId,
          branched: false,
          warnings,
          answer: read,
        };
        const lease = session.leaseTurnId === ended.id ? noLease : undefined;
        return { turn: ended, messages: added, calls, lease, answer };
      }
      const { turn, branch, headMove, branched, lease } = placeTurn(
        ended,
        session,
        found,
        HeadMoveCause.COMPLETED,
        deps.ids,
      );
      return {
        turn,
        messages: added && { ...added, branchId: turn.branchId, depth: turn.depth },
        calls,
        placeMessages: before.messageCount > 0,
        reparented: before.parentTurnId !== open.parentTurnId,
        branch,
        headMove,
        lease,
        pin: pinOf(turn, command.assembly),
        answer: {
          turn: viewTurn(turn),
          messageIds: draft.ids,
          headTurnId: headMove ? turn.id : headTurnId,
          branched,
          warnings,
          answer: read,
        },
      };
    },
  });
  deps.watches.moved(key.tenantId, answer.turn!.sessionId);
  return answer;
}

/**
 * The turn under the parent that it gets. Under another than it began with, the same messages must mean the same: neither may answer
 * what its own parent left open, nor may the new one leave anything open.
 */
function atItsPlace(
  turn: TurnRow,
  state: OpenState,
  session: SessionHead,
  parent: ParentTurn | undefined,
  { onHeadMoved }: CompleteTurn,
): TurnRow {
  const { headTurnId } = session;
  if (headTurnId === turn.parentTurnId || onHeadMoved === OnHeadMoved.BRANCH) return turn;
  if (onHeadMoved !== OnHeadMoved.APPEND)
    throw headMoved(session, "turn_id", "has a parent that is not the session's head");
  if (state.continues)
    throw headMoved(
      session,
      "turn_id",
      "answers what its parent left open, and that is not the session's head",
    );
  if (parent && OpenState.parse(parent.openStateJson).open.length > 0)
    throw headMoved(
      session,
      "turn_id",
      "cannot be written after the session's head, which awaits answers and",
    );
  return { ...turn, parentTurnId: headTurnId };
}

/** A turn enters a thread with messages, and under a parent that is still there. */
function requirePlace(turn: TurnRow, parent: ParentTurn | undefined, addedMessages: number): void {
  if (turn.messageCount + addedMessages === 0) {
    throw new QuireError("TURN_EMPTY", "a turn without messages can only be failed", {
      metadata: { turn_id: turn.id },
    });
  }
  if (turn.parentTurnId !== null && !parent) {
    throw QuireError.field(
      "UNKNOWN_PARENT",
      "turn_id",
      "has a parent that was erased: the turn can only be failed",
    );
  }
}
