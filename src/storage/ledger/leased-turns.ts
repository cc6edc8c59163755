import { DriverAdapterError } from "@prisma/driver-adapter-utils";
import type { Sql } from "../sql.js";
import { type LockedSession, lookUp } from "./lock-sessions.js";
import type { TurnRow } from "./rows.js";

/** A turn that is being written, with its messages where they were asked for. */
export interface OpenTurn {
  readonly row: TurnRow;
  readonly wires: readonly Buffer[];
}

/** From whom a write takes its session's lease: from a turn whose lease has expired, or from any. */
export type LeaseFrom = "expired" | "any";

/** A write to a session that takes its lease, or another one. */
interface Target {
  readonly target:
    | { readonly kind: "session"; readonly session: string; readonly leaseFrom?: LeaseFrom | undefined }
    | { readonly kind: "turn" };
}

/** The turns that have the leases which writes may take. Turns are locked before sessions, so who has one is looked up first. */
export async function findLeased(sql: Sql, tenantId: string, writes: readonly Target[]): Promise<string[]> {
  const takers = writes.flatMap(({ target }) =>
    target.kind === "session" && target.leaseFrom ? target : [],
  );
  if (takers.length === 0) return [];
  const names = [...new Set(takers.map(({ session }) => session))];
  if (sql.dialect === "postgresql") await keepOthersOut(sql, tenantId, names);
  const sessions = await lookUp(sql, tenantId, names);
  return takers.flatMap((target) => {
    const session = sessions.get(target.session);
    return session && mayTake(session, target) ? session.leaseTurnId! : [];
  });
}

/** Takers of one lease come one after the other: those of several servers would else find it taken again and again. */
async function keepOthersOut(sql: Sql, tenantId: string, names: readonly string[]): Promise<void> {
  const sessions = await lookUp(sql, tenantId, names);
  const ids = new Set([...sessions.values()].map(({ id }) => id));
  for (const id of [...ids].sort()) await sql.execute(takersLock, [`${tenantId}/${id}`]);
}

const takersLock = "SELECT pg_advisory_xact_lock(hashtextextended('quire-lease/' || CAST(? AS TEXT), 0))";

/** The one of them that has the lease of the session, now that this is locked. */
export function leasedBy(
  session: LockedSession | undefined,
  { target }: Target,
  open: ReadonlyMap<string, OpenTurn>,
): OpenTurn | undefined {
  if (!session || !mayTake(session, target)) return undefined;
  const leased = open.get(session.leaseTurnId!);
  // The lease is another turn's, or has expired, only since it was looked up: the turn is not locked.
  if (!leased) throw new DriverAdapterError({ kind: "TransactionWriteConflict" });
  return leased;
}

function mayTake({ leaseTurnId, leaseExpiresUs, nowUs }: LockedSession, target: Target["target"]): boolean {
  if (target.kind !== "session" || target.leaseFrom === undefined || leaseTurnId === null) return false;
  return target.leaseFrom === "any" || leaseExpiresUs! <= nowUs;
}
