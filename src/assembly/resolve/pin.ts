import { HistoryReplay } from "../../contract/gen/quire/v1/assembly.js";
import type { AgentRole } from "../../domain/agent-role.js";
import { fromMicroseconds } from "../../domain/clock.js";
import type { WholeThread } from "../../ledger/effective-thread.js";
import type { FoundModel } from "../../models/catalogue.js";
import type { ReceiptDeps } from "../../receipts/deps.js";
import type { ReceiptCore } from "../../receipts/recent-receipts.js";
import type { PinRow } from "../../storage/ledger/rows.js";
import { isOnThread, type PinKey } from "../../storage/ledger/thread-store.js";
import { type Asking, askedLimit } from "./asked-limit.js";
import type { SettledRequest } from "./settle-request.js";

/** The context that a session last sent to a model in a role, by replay mode and asked limit, and that a turn of this thread answered. */
export interface Pin {
  readonly row: PinRow;
  readonly receipt: ReceiptCore;
  /** When the provider last saw it. */
  readonly lastUseMs: number;
}

export type PinDeps = Pick<ReceiptDeps, "ledger" | "recentReceipts">;

/** Whether the provider's cache still holds it. */
export function isWarm(
  { nowMs, model }: { readonly nowMs: number; readonly model: FoundModel },
  pin: Pin,
): boolean {
  return nowMs - pin.lastUseMs <= model.entry.cache.ttlSeconds * 1_000;
}

/** The pin of a thread; undefined where there is none, or the thread goes on from no context of that key. */
export async function findPin(
  deps: PinDeps,
  thread: WholeThread,
  key: PinKey,
  nowMs: number,
): Promise<Pin | undefined> {
  const { tenantId, session, head, activeTurn, segments } = thread;
  const row = await deps.ledger.threads.findPin(tenantId, session.id, key);
  if (!row) return undefined;
  const receipt = await deps.recentReceipts.find(tenantId, row.assemblyId);
  if (!receipt) return undefined;
  if (row.turnId === activeTurn?.id) return { row, receipt, lastUseMs: nowMs };
  if (row.turnId === head?.id)
    return { row, receipt, lastUseMs: fromMicroseconds(head.completedUs ?? row.pinnedUs).getTime() };
  const turn = await deps.ledger.threads.findTurn(tenantId, row.turnId);
  if (turn && isOnThread(segments, turn))
    return { row, receipt, lastUseMs: fromMicroseconds(turn.completedUs ?? row.pinnedUs).getTime() };
  return earlierPin(deps, thread, row);
}

/** What of a context its pin is found by. */
export interface PinnedContext extends Asking {
  readonly modelName: string;
  readonly role: AgentRole;
  readonly request: Asking["request"] & Pick<SettledRequest, "replay">;
}

/** What the session's contexts are pinned by: each window, role and way of replay has a beginning of its own. */
export function pinKey(context: PinnedContext): PinKey {
  const { modelName: model, role, request } = context;
  const replay = request.replay === HistoryReplay.CLEAN ? "clean" : "as_sent";
  return { model, role, replay, limitTokens: Math.min(askedLimit(context)?.tokens ?? 0, mostLimit) };
}

/** Limits are stored as 32 bits with a sign. */
const mostLimit = 2 ** 31 - 1;

function isFor({ model, role, cut }: ReceiptCore, key: PinKey): boolean {
  const isClean = cut?.replay === HistoryReplay.CLEAN;
  return (
    model === key.model &&
    role === key.role &&
    (key.replay === "clean") === isClean &&
    (cut?.maxContextTokens ?? 0) === key.limitTokens
  );
}

/** How many turns are looked at for an earlier pin. */
const lookBackTurns = 64;

/** Where the pinned turn failed, is still open, or the head was moved away from it: the newest context for its model and role that a turn of the thread answers to. */
async function earlierPin(
  deps: PinDeps,
  { tenantId, segments }: WholeThread,
  row: PinRow,
): Promise<Pin | undefined> {
  let left = lookBackTurns;
  for (const segment of segments.toReversed()) {
    const turns = left > 0 ? await deps.ledger.threads.listSegment(tenantId, segment, [], left) : [];
    left -= turns.length;
    for (const { id: turnId, assemblyId, completedUs } of turns) {
      const receipt = assemblyId ? await deps.recentReceipts.find(tenantId, assemblyId) : undefined;
      if (!receipt || !isFor(receipt, row)) continue;
      const lastUseMs = fromMicroseconds(completedUs ?? row.pinnedUs).getTime();
      return { row: { ...row, turnId, assemblyId: receipt.assemblyId }, receipt, lastUseMs };
    }
  }
  return undefined;
}
