import { TurnStatus } from "../domain/turn.js";
import { QuireError } from "../errors/quire-error.js";
import type { TurnRow } from "../storage/ledger/rows.js";

export function turnNotFound(turnId: string): QuireError {
  return new QuireError("TURN_NOT_FOUND", `there is no turn ${turnId}`, { metadata: { turn_id: turnId } });
}

/** The turn, if it is there and open. */
export function requireOpen(turn: TurnRow | undefined, turnId: string): TurnRow {
  if (!turn) throw turnNotFound(turnId);
  if (turn.status !== TurnStatus.OPEN) {
    const status = turn.status.replace("TURN_STATUS_", "");
    if (turn.interruptedByTurnId !== null) {
      throw new QuireError(
        "INTERRUPTED",
        `the turn ${turn.interruptedByTurnId} took the session and ended this one, which is ${status}`,
        { metadata: { turn_id: turnId, by_turn_id: turn.interruptedByTurnId, status } },
      );
    }
    throw new QuireError("TURN_NOT_OPEN", `the turn is ${status}: only an open turn can be written to`, {
      metadata: { turn_id: turnId, status },
    });
  }
  return turn;
}

/** The turn, if it is there and has a place in a thread. */
export function requireFinished(
  turn: TurnRow | undefined,
  turnId: string,
): TurnRow & { branchId: string; depth: number } {
  if (!turn) throw turnNotFound(turnId);
  if (turn.branchId === null || turn.depth === null) {
    const status = turn.status.replace("TURN_STATUS_", "");
    throw new QuireError("TURN_NOT_FINISHED", `the turn is ${status}: it has no thread`, {
      metadata: { turn_id: turnId, status },
    });
  }
  return { ...turn, branchId: turn.branchId, depth: turn.depth };
}
