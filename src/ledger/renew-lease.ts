import type { Lease } from "../domain/lease.js";
import { QuireError } from "../errors/quire-error.js";
import type { LedgerDeps } from "./deps.js";
import { requireOpen } from "./open-turn.js";
import { viewLease } from "./views.js";

export interface RenewLease {
  readonly turnId: string;
  /** 0 for as long as before. */
  readonly seconds: number;
}

/** Makes the lease of an open turn last anew, also one that expired and that nobody took. */
export async function renewLease(
  deps: LedgerDeps,
  tenantId: string,
  { turnId, seconds }: RenewLease,
): Promise<{ readonly lease: Lease | undefined }> {
  const findOpen = async () => requireOpen(await deps.threads.findTurn(tenantId, turnId), turnId);
  const { sessionId } = await findOpen();
  const renewed = await deps.sessions.renewLease(tenantId, sessionId, turnId, seconds);
  if (renewed) return { lease: viewLease(renewed) };
  // Whoever took it ended the turn.
  await findOpen();
  throw new QuireError("LEASE_LOST", `the turn ${turnId} has no lease, or no longer`, {
    metadata: { turn_id: turnId },
  });
}
