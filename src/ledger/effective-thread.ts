import type { PromptTexts } from "../domain/prompt-texts.js";
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

/** The summary that a thread begins with, and the runs of its turns. */
export interface EffectiveThread extends ThreadAt {
  readonly segments: readonly ThreadSegment[];
  readonly compaction: CompactionRow | undefined;
  /** What its tokens are counted with; o200k_base where nothing else is said. */
  readonly vocabulary?: Vocabulary;
}

/** The thread with the compaction that applies to it. */
export async function findEffective(ledger: LedgerDeps, thread: ThreadAt): Promise<EffectiveThread> {
  const { tenantId, head, activeTurn } = thread;
  const segments =
    head?.branchId && head.depth
      ? await ledger.threads.segments(tenantId, { branchId: head.branchId, depth: head.depth })
      : [];
  const compaction = await ledger.compactions.latest(tenantId, { segments, activeTurn });
  return { ...thread, segments, compaction };
}
