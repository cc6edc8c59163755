import type { Ids } from "../domain/clock.js";
import type { LeaseRequest } from "../domain/lease.js";
import { HeadMoveCause } from "../domain/session.js";
import { TurnStatus } from "../domain/turn.js";
import type { OpenTurn } from "../storage/ledger/leased-turns.js";
import type { LockedSession } from "../storage/ledger/lock-sessions.js";
import type { SessionLease } from "../storage/ledger/rows.js";
import { sessionNotFound } from "../storage/ledger/session-store.js";
import type { EndedTurn, TurnState } from "../storage/ledger/write-turns.js";
import { OpenState } from "../thread/open-state.js";
import { leaseUntil, requireFree } from "./lease.js";
import { type NewTurn, placeTurn, settleParent, withResult } from "./turn-draft.js";

const usualSeconds = 60;

/** The turn that takes a lease, and when. */
export interface Taker {
  readonly turnId: string;
  readonly nowUs: bigint;
  readonly ids: Ids;
}

/** A lease that was taken, and what the turn that takes it finds. */
export interface TakenLease {
  readonly lease: SessionLease;
  /** The turn that had the lease before, as it is ended. */
  readonly interrupted: EndedTurn | undefined;
  readonly found: TurnState;
}

/** Takes the session for a turn, from an open turn that may lose it. What that one has comes into the thread, unless it is to be discarded. */
export function takeLease(
  found: TurnState,
  command: NewTurn,
  { seconds: asked, holder, discard }: LeaseRequest,
  by: Taker,
): TakenLease {
  const { session, leased } = found;
  if (!session) throw sessionNotFound(command.session);
  // The parent is the head, which the turn that had the lease goes after, too.
  settleParent(found, session, command);
  if (!leased) requireFree(session, by.turnId);
  const seconds = asked || usualSeconds;
  const lease: SessionLease = {
    leaseTurnId: by.turnId,
    leaseExpiresUs: leaseUntil(session.nowUs, seconds),
    leaseSeconds: seconds,
    leaseHolder: holder,
  };
  const interrupted = leased && endTurn(found, session, leased, discard, by);
  const { turn, headMove } = interrupted ?? {};
  if (!turn || !headMove) return { lease, interrupted, found };
  const moved = {
    ...session,
    headTurnId: turn.id,
    headBranchId: turn.branchId,
    headDepth: turn.depth!,
    headSequence: headMove.sequence,
  };
  return { lease, interrupted, found: { ...found, session: moved, parent: turn } };
}

/** Calls that it leaves open are the next turn's to give up. */
function endTurn(
  state: TurnState,
  session: LockedSession,
  { row, wires }: OpenTurn,
  discard: boolean,
  by: Taker,
): EndedTurn {
  const open = OpenState.parse(row.openStateJson);
  const kept = open.open.length > 0 ? TurnStatus.AWAITING : TurnStatus.COMPLETED;
  const status = discard || !open.started ? TurnStatus.FAILED : kept;
  const marked = { ...row, interruptedByTurnId: by.turnId };
  const ended = withResult(marked, status, undefined, open, wires, by.nowUs);
  if (status === TurnStatus.FAILED) return { turn: ended, branch: undefined, headMove: undefined };
  return placeTurn(ended, session, state, HeadMoveCause.INTERRUPTED, by.ids);
}
