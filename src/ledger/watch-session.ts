import type { HeadMove, Session } from "../domain/session.js";
import { sessionNotFound } from "../storage/ledger/session-store.js";
import type { LedgerDeps } from "./deps.js";
import { viewHeadMove, viewSession } from "./views.js";

export interface WatchSession {
  readonly session: string;
  readonly afterSequence?: number | undefined;
}

export type WatchEvent =
  | { readonly $case: "watching"; readonly value: Session }
  | { readonly $case: "headMoved"; readonly value: HeadMove }
  | { readonly $case: "deleted"; readonly value: { readonly sessionId: string } };

const pageSize = 500;
/** What a database takes; no log is that long. */
const maxSequence = 2 ** 31 - 1;

/**
 * The session, then each move of its head. Moves are read from the head log, never from the signal, so none is lost or
 * doubled, whichever server wrote it; the signal only makes those of this server arrive at once.
 */
export async function* watchSession(
  deps: LedgerDeps,
  tenantId: string,
  command: WatchSession,
  signal?: AbortSignal,
): AsyncGenerator<WatchEvent> {
  const found = await deps.sessions.find(tenantId, command.session);
  if (!found) throw sessionNotFound(command.session);
  const { id: sessionId, headSequence } = found.row;
  const listener = deps.headSignal.listen(tenantId, sessionId, signal);
  try {
    yield { $case: "watching", value: viewSession(found) };
    let sequence = Math.min(command.afterSequence ?? headSequence, maxSequence);
    while (!signal?.aborted) {
      const moves = await deps.sessions.headMoves(tenantId, sessionId, sequence, pageSize);
      for (const move of moves) yield { $case: "headMoved", value: viewHeadMove(move) };
      sequence = moves.at(-1)?.sequence ?? sequence;
      if (moves.length === pageSize) continue;
      if (moves.length === 0 && !(await deps.sessions.find(tenantId, sessionId))) {
        yield { $case: "deleted", value: { sessionId } };
        return;
      }
      await listener.wait(deps.watchPollMs);
    }
  } finally {
    listener.close();
  }
}
