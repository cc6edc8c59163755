import { list, placeholders, type Sql, type SqlValue } from "../sql.js";

export type PendingKind = "turn" | "block" | "archival";

export interface Pending {
  readonly tenantId: string;
  readonly kind: PendingKind;
  readonly refId: string;
}

/**
 * Says, in the transaction that writes a text, that it is to be indexed. The row is locked where it is there already: who has just
 * indexed an older text has then either seen this one, or leaves the row.
 */
export async function markPending(sql: Sql, pending: readonly Pending[]): Promise<void> {
  if (pending.length === 0) return;
  const args: SqlValue[] = [];
  for (const { tenantId, kind, refId } of pending) args.push(tenantId, kind, refId);
  await sql.execute(
    `INSERT INTO search_pending (tenant_id, kind, ref_id) VALUES ${placeholders(pending.length, 3)}
     ON CONFLICT (tenant_id, kind, ref_id) DO UPDATE SET ref_id = excluded.ref_id`,
    args,
  );
}

/** Takes a text out of the index, in the transaction that removes or changes it. */
export async function forgetDocuments(
  sql: Sql,
  tenantId: string,
  kind: PendingKind,
  refIds: readonly string[],
): Promise<void> {
  if (refIds.length === 0) return;
  const within = `IN (${list(refIds.length)})`;
  await sql.execute(`DELETE FROM search_documents WHERE tenant_id = ? AND ref_id ${within}`, [
    tenantId,
    ...refIds,
  ]);
  await sql.execute(`DELETE FROM search_pending WHERE tenant_id = ? AND kind = ? AND ref_id ${within}`, [
    tenantId,
    kind,
    ...refIds,
  ]);
}
