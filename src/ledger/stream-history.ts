import { StreamHistoryResponse } from "../contract/gen/quire/v1/ledger_service.js";
import { QuireError } from "../errors/quire-error.js";
import { hangsOff } from "../storage/ledger/held-compactions.js";
import type { CompactionRow } from "../storage/ledger/rows.js";
import { sessionNotFound } from "../storage/ledger/session-store.js";
import { isOnThread, type ThreadPosition } from "../storage/ledger/thread-store.js";
import { type HistoryBatch, HistoryBatcher } from "../thread/history-batcher.js";
import { keptWires } from "../thread/shown-turn.js";
import type { LedgerDeps } from "./deps.js";
import { effectiveCut } from "./effective-cut.js";
import { requireFinished, turnNotFound } from "./open-turn.js";

export interface StreamHistory {
  readonly thread: { readonly $case: "session" | "turnId"; readonly value: string };
  /** Whether what a compaction stands for is left out, and its summary comes first. */
  readonly effective: boolean;
  readonly afterTurnId: string;
  readonly lastTurns: number;
  /** The compaction of the context that is asked for, empty where that had none; undefined for the newest context. */
  readonly compactionId?: string | undefined;
}

interface ResolvedThread {
  /** The session that is asked for, or that wrote the turn. */
  readonly sessionId: string;
  readonly headTurnId: string;
  readonly chainHash: Buffer;
  readonly position: ThreadPosition | undefined;
  readonly epoch: number;
}

/** The messages of a thread in batches: the stored bytes, which nobody encodes again. */
export async function* streamHistory(
  deps: LedgerDeps,
  tenantId: string,
  command: StreamHistory,
  signal?: AbortSignal,
): AsyncGenerator<HistoryBatch> {
  const thread = await resolveThread(deps, tenantId, command.thread);
  const depth = thread.position?.depth ?? 0;
  const startAfter = Math.max(
    await startDepth(deps, tenantId, thread, command.afterTurnId),
    command.lastTurns > 0 ? depth - command.lastTurns : 0,
  );
  const compaction = command.effective ? await compactionOf(deps, tenantId, thread, command) : undefined;
  const summarized = compaction?.summarizedTurns ?? 0;
  const afterDepth = Math.max(startAfter, summarized);
  // Who begins after all that is summarized has no use for the summary.
  const isSplit = (compaction?.firstKeptMessageIndex ?? 0) > 0;
  const isNeeded = startAfter < summarized || (isSplit && startAfter === summarized);
  const shown = isNeeded ? compaction : undefined;
  const segments = thread.position ? await deps.threads.segments(tenantId, thread.position, afterDepth) : [];
  const { headTurnId, chainHash } = thread;
  const summary = {
    headTurnId,
    depth,
    chainHash,
    streamedTurns: Math.max(0, depth - afterDepth),
    compactionId: shown?.id ?? "",
  };
  const batcher = new HistoryBatcher(
    Buffer.from(StreamHistoryResponse.encode({ messages: [], thread: summary }).finish()),
  );
  if (shown) yield* batcher.add(Buffer.from(shown.wire));
  for (const segment of segments) {
    for await (const turns of deps.cache.read(tenantId, thread.epoch, segment)) {
      signal?.throwIfAborted();
      for (const turn of turns) {
        // Not `yield*`, which would wait for each turn, whether it fills a batch or not.
        for (const wire of keptWires(turn, compaction)) for (const batch of batcher.add(wire)) yield batch;
      }
    }
  }
  await requireStillThere(deps, tenantId, thread);
  yield* batcher.rest();
}

async function compactionOf(
  deps: LedgerDeps,
  tenantId: string,
  { sessionId, position }: ResolvedThread,
  { compactionId }: StreamHistory,
): Promise<CompactionRow | undefined> {
  if (!position || compactionId === "") return undefined;
  const thread = { segments: await deps.threads.segments(tenantId, position), activeTurn: undefined };
  if (compactionId === undefined) return effectiveCut(deps, { tenantId, sessionId, thread });
  const compaction = await deps.compactions.find(tenantId, compactionId);
  if (compaction && hangsOff(thread, compaction)) return compaction;
  throw QuireError.field("INVALID_FIELD", "assembly_id", "is no context of this thread");
}

/** An erasure meanwhile may have taken what was still to be read, or given its place to other turns. */
async function requireStillThere(deps: LedgerDeps, tenantId: string, thread: ResolvedThread): Promise<void> {
  if (!thread.position || (await deps.threads.epoch(tenantId)) === thread.epoch) return;
  if (!(await deps.threads.findTurn(tenantId, thread.headTurnId))) throw turnNotFound(thread.headTurnId);
}

async function resolveThread(
  deps: LedgerDeps,
  tenantId: string,
  thread: StreamHistory["thread"],
): Promise<ResolvedThread> {
  let turnId = thread.value;
  let sessionId: string | undefined;
  if (thread.$case === "session") {
    const found = await deps.threads.findHead(tenantId, thread.value);
    if (!found) throw sessionNotFound(thread.value);
    sessionId = found.session.id;
    turnId = found.session.headTurnId ?? "";
    if (turnId === "")
      return {
        sessionId,
        headTurnId: "",
        chainHash: Buffer.alloc(0),
        position: undefined,
        epoch: found.epoch,
      };
  }
  // A turn that was read under an epoch before its own could be shown from what the cache kept of its place.
  for (let epoch = await deps.threads.epoch(tenantId); ; ) {
    const head = requireFinished(await deps.threads.findTurn(tenantId, turnId), turnId);
    const after = await deps.threads.epoch(tenantId);
    if (after === epoch)
      return {
        sessionId: sessionId ?? head.sessionId,
        headTurnId: head.id,
        chainHash: Buffer.from(head.chainHash ?? []),
        position: head,
        epoch,
      };
    epoch = after;
  }
}

/** The depth of the turn to start after, which must be on the thread. */
async function startDepth(
  deps: LedgerDeps,
  tenantId: string,
  thread: ResolvedThread,
  afterTurnId: string,
): Promise<number> {
  if (afterTurnId === "") return 0;
  const after = requireFinished(await deps.threads.findTurn(tenantId, afterTurnId), afterTurnId);
  const segments = thread.position ? await deps.threads.segments(tenantId, thread.position) : [];
  if (!isOnThread(segments, after))
    throw QuireError.field("INVALID_FIELD", "after_turn_id", "is not on this thread");
  return after.depth;
}
