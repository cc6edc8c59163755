import type { Dialect, Sql, SqlValue } from "../sql.js";
import { leaseShape, type SessionLease } from "./rows.js";

/** What becomes of a session's lease. */
export interface LeaseWrite {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly lease: SessionLease;
}

/** Writes leases of sessions that are locked, all in one statement. */
export async function writeLeases(sql: Sql, writes: readonly LeaseWrite[]): Promise<void> {
  if (writes.length === 0) return;
  const args: SqlValue[] = [];
  for (const { tenantId, sessionId, lease } of writes) {
    args.push(tenantId, sessionId);
    leaseShape.args(lease, args);
  }
  await sql.execute(updateSql(writes.length, sql.dialect), args);
}

function updateSql(count: number, dialect: Dialect): string {
  // Nothing of a batch is kept when a statement of it fails.
  const update = dialect === "sqlite" ? "UPDATE OR FAIL" : "UPDATE";
  const row =
    "(CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS INTEGER), CAST(? AS TEXT))";
  const columns = leaseShape.columns.map(([, column]) => column);
  return `WITH leases (tenant_id, session_id, ${columns.join(", ")}) AS (VALUES ${Array(count).fill(row).join(",")})
${update} sessions SET ${columns.map((column) => `${column} = leases.${column}`).join(", ")}
FROM leases WHERE sessions.tenant_id = leases.tenant_id AND sessions.id = leases.session_id`;
}
