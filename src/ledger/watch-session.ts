import type { Lease } from "../domain/lease.js";
import type { HeadMove, Session } from "../domain/session.js";
import { sessionNotFound } from "../storage/ledger/session-store.js";
import type { LedgerDeps } from "./deps.js";
import { viewHeadMove, viewLease, viewSession } from "./views.js";

export interface WatchSession {
  readonly session: string;
  readonly afterSequence?: number | undefined;
}

export type WatchEvent =
  | { readonly $case: "watching"; readonly value: Session }
  | { readonly $case: "headMoved"; readonly value: HeadMove }
  | { readonly $case: "leaseChanged"; readonly value: { readonly lease: Lease | undefined } }
  | { readonly $case: "deleted"; readonly value: { readonly sessionId: string } };

const pageSize = 500;
/** What a database takes; no log is that long. */
const maxSequence = 2 ** 31 - 1;

/**
 * The session, then each move of its head, and who has it by now. Moves come from the head log, whichever server wrote them, so none is lost or
 * doubled: by way of the feed that all watchers of the session share, or, for who is further behind, read here. Nothing is
 * kept for a client that is slow: it goes on where it was when it has room again.
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
  const watch = deps.watches.open(found.row, signal);
  try {
    yield { $case: "watching", value: viewSession(found) };
    let leaseTurnId = found.row.leaseTurnId;
    let sequence = Math.min(command.afterSequence ?? headSequence, maxSequence);
    while (!signal?.aborted) {
      const { sequence: known, isDeleted } = watch.feed;
      const moves = watch.feed.movesAfter(sequence) ?? readLog(deps, tenantId, sessionId, sequence, signal);
      for await (const value of moves) {
        yield { $case: "headMoved", value };
        sequence = value.sequence;
      }
      sequence = Math.max(sequence, known);
      if (isDeleted) {
        yield { $case: "deleted", value: { sessionId } };
        return;
      }
      const { lease } = watch.feed;
      if (lease.leaseTurnId !== leaseTurnId) {
        yield { $case: "leaseChanged", value: { lease: viewLease(lease) } };
        leaseTurnId = lease.leaseTurnId;
        continue;
      }
      await watch.wait();
    }
  } finally {
    watch.close();
  }
}

async function* readLog(
  deps: LedgerDeps,
  tenantId: string,
  sessionId: string,
  afterSequence: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<HeadMove> {
  let sequence = afterSequence;
  let isEnd = false;
  while (!isEnd && !signal?.aborted) {
    const moves = await deps.sessions.headMoves(tenantId, sessionId, sequence, pageSize);
    for (const move of moves) yield viewHeadMove(move);
    sequence = moves.at(-1)?.sequence ?? sequence;
    isEnd = moves.length < pageSize;
  }
}
