import { fromMicroseconds } from "../domain/clock.js";
import { QuireError } from "../errors/quire-error.js";
import type { LockedSession } from "../storage/ledger/lock-sessions.js";
import type { SessionLease } from "../storage/ledger/rows.js";

/** A session, as far as its lease goes, and the time by the database's clock. */
export type LeasedSession = SessionLease & Pick<LockedSession, "id" | "label" | "nowUs">;

/** Most holders end long before their leases do. */
const longestRetryMs = 1_000;
const shortestRetryMs = 20;

/** Throws where another turn has the session, so that this one cannot become its head. */
export function requireFree(session: LeasedSession, turnId: string): void {
  const { leaseTurnId, leaseExpiresUs, nowUs } = session;
  if (leaseTurnId === null || leaseTurnId === turnId) return;
  if (leaseExpiresUs! > nowUs) throw sessionBusy(session);
}

export function sessionBusy({
  id,
  label,
  nowUs,
  leaseTurnId,
  leaseExpiresUs,
  leaseHolder,
}: LeasedSession): QuireError {
  const expireTime = fromMicroseconds(leaseExpiresUs!).toISOString();
  const leftMs = Number((leaseExpiresUs! - nowUs) / 1000n) + 1;
  const by = leaseHolder ? ` by ${JSON.stringify(leaseHolder)}` : "";
  return new QuireError(
    "SESSION_BUSY",
    `the session ${JSON.stringify(label)} is leased${by} for the turn ${leaseTurnId}, until ${expireTime} unless it is renewed`,
    {
      metadata: {
        session_id: id,
        turn_id: leaseTurnId!,
        holder: leaseHolder ?? "",
        expire_time: expireTime,
      },
      retryAfterMs: Math.min(Math.max(leftMs, shortestRetryMs), longestRetryMs),
    },
  );
}

/** How long a lease lives that is taken or renewed now. */
export function leaseUntil(nowUs: bigint, seconds: number): bigint {
  return nowUs + BigInt(seconds) * 1_000_000n;
}
