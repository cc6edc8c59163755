import type { HeldBy, HeldRow } from "../storage/ledger/held-compactions.js";
import type { PinRow } from "../storage/ledger/rows.js";
import { isOnThread } from "../storage/ledger/thread-store.js";
import type { LedgerDeps } from "./deps.js";

/** So many of a session's newest contexts are looked at. */
const lookedAtPins = 16;

/**
 * The compaction with which a session's thread is seen where nobody says by which context: that of the newest context that a turn of the
 * thread answered, or the floor that was set since; without such a context the one in force that keeps least.
 */
export async function effectiveCut(ledger: LedgerDeps, of: HeldBy): Promise<HeldRow | undefined> {
  const pin = await newestPin(ledger, of);
  if (pin) return boundCut(ledger, of, pin.compactionId ?? "", pin.model);
  const least = await ledger.compactions.keepingLeast(of);
  return least && ledger.compactions.held(of, least.id);
}

/** A cut, or the floor of its model where that keeps less. */
export async function boundCut(
  ledger: LedgerDeps,
  of: HeldBy,
  compactionId: string,
  model: string,
): Promise<HeldRow | undefined> {
  const cut = compactionId === "" ? undefined : await ledger.compactions.held(of, compactionId);
  const floor = await ledger.compactions.floor(of, model);
  if (!floor || floor.id === cut?.id) return cut;
  if (cut && !keepsMore(cut, floor)) return cut;
  return ledger.compactions.held(of, floor.id);
}

/** Whether a cut shows more of the thread than another, or as much by an older summary. */
export function keepsMore(
  cut: { readonly beforeTokens: bigint; readonly id: string },
  other: { readonly beforeTokens: bigint; readonly id: string },
): boolean {
  return cut.beforeTokens === other.beforeTokens ? cut.id < other.id : cut.beforeTokens < other.beforeTokens;
}

/** The newest context of a session that a turn of the thread answered. */
export async function newestPin(ledger: LedgerDeps, of: HeldBy): Promise<PinRow | undefined> {
  const { tenantId, sessionId, thread } = of;
  for (const pin of await ledger.threads.newestPins(tenantId, sessionId, lookedAtPins)) {
    if (pin.compactionId === null) continue;
    if (pin.turnId === thread.activeTurn?.id) return pin;
    if (isOnThread(thread.segments, await ledger.threads.findTurn(tenantId, pin.turnId))) return pin;
  }
  return undefined;
}
