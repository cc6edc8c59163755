import type { PromptTexts } from "../domain/prompt-texts.js";
import type { Soon } from "../domain/soon.js";
import type { HeldBy } from "../storage/ledger/held-compactions.js";
import type { CompactionRow, ParentTurn, SessionHead, TurnRow } from "../storage/ledger/rows.js";
import type { ThreadSegment } from "../storage/ledger/thread-store.js";
import type { Vocabulary } from "../tokens/vocabulary.js";
import type { LedgerDeps } from "./deps.js";

/** The thread that ends at a session's head, or goes on in an open turn. */
export interface ThreadAt {
  readonly tenantId: string;
  readonly session: SessionHead;
  readonly epoch: number;
  readonly head: ParentTurn | undefined;
  readonly activeTurn: TurnRow | undefined;
  /** The words for what is left out or made up. */
  readonly texts: PromptTexts;
}

/** The same with the runs of its turns. */
export interface WholeThread extends ThreadAt {
  readonly segments: readonly ThreadSegment[];
}

/** A thread with the summary that it begins with, if it is cut. */
export interface EffectiveThread extends WholeThread {
  readonly compaction: CompactionRow | undefined;
  /** What its tokens are counted with; o200k_base where nothing else is said. */
  readonly vocabulary?: Vocabulary;
}

export function findWhole(ledger: LedgerDeps, thread: ThreadAt): Soon<WholeThread> {
  const { tenantId, head } = thread;
  if (!head?.branchId || !head.depth) return { ...thread, segments: [] };
  const found = ledger.threads.segments(tenantId, { branchId: head.branchId, depth: head.depth });
  if (found instanceof Promise) return found.then((segments) => ({ ...thread, segments }));
  return { ...thread, segments: found };
}

/** Whose compactions of which thread are meant. */
export function heldBy(
  thread: Pick<WholeThread, "tenantId" | "session" | "segments" | "activeTurn">,
): HeldBy {
  return { tenantId: thread.tenantId, sessionId: thread.session.id, thread };
}
