import { DriverAdapterError } from "@prisma/driver-adapter-utils";
import { looksLikeUuid } from "../../domain/clock.js";
import { asBigInt, list, nowUsSql, type Sql, type SqlValue } from "../sql.js";
import { type SessionHead, sessionHeadShape } from "./rows.js";

/** A session that nobody else changes until the transaction ends, and what time it is for the database. */
export interface LockedSession extends SessionHead {
  readonly nowUs: bigint;
}

/** Ends a query whose rows nobody else may change until the transaction ends. SQLite has one writer anyway. */
export function lockRows(sql: Sql): string {
  return sql.dialect === "postgresql" ? " ORDER BY id FOR UPDATE" : "";
}

/**
 * Sessions by what callers name them: label, id, or alias. Locked all at once and in the order of their ids, so that
 * two batches never wait for each other, whatever names they use.
 */
export async function lockSessions(
  sql: Sql,
  tenantId: string,
  names: ReadonlySet<string>,
): Promise<Map<string, LockedSession>> {
  const wanted = [...names];
  const isLocking = lockRows(sql) !== "";
  // No label or alias looks like an id, so that ids need no lookup.
  if (isLocking && wanted.every(looksLikeUuid)) return byId(await selectLocked(sql, tenantId, wanted));
  const found = await lookUp(sql, tenantId, wanted);
  if (!isLocking || found.size === 0) return found;
  const locked = byId(
    await selectLocked(
      sql,
      tenantId,
      [...found.values()].map(({ id }) => id),
    ),
  );
  for (const [name, seen] of found) {
    const session = locked.get(seen.id);
    // Renamed between the lookup and the lock: the name may be another session's by now.
    if (session?.label !== seen.label) throw new DriverAdapterError({ kind: "TransactionWriteConflict" });
    found.set(name, session);
  }
  return found;
}

/** The same, not locked. */
export async function lookUp(
  sql: Sql,
  tenantId: string,
  wanted: readonly string[],
): Promise<Map<string, LockedSession>> {
  if (wanted.length === 0) return new Map();
  const ids = wanted.filter(looksLikeUuid);
  const labels = ids.length === 0 ? wanted : wanted.filter((name) => !looksLikeUuid(name));
  const isNamed = [
    ...(labels.length > 0 ? [`label IN (${list(labels.length)})`] : []),
    ...(ids.length > 0 ? [`id IN (${list(ids.length)})`] : []),
  ];
  const direct = await select(sql, `tenant_id = ? AND (${isNamed.join(" OR ")})`, [
    tenantId,
    ...labels,
    ...ids,
  ]);
  const found = byId(direct);
  for (const session of direct) found.set(session.label, session);
  const missing = wanted.filter((name) => !found.has(name));
  if (missing.length === 0) return found;
  const aliases = await sql.query(
    `SELECT alias, session_id FROM session_aliases WHERE tenant_id = ? AND alias IN (${list(missing.length)})`,
    [tenantId, ...missing],
  );
  if (aliases.length === 0) return found;
  const ownerIds = aliases.map(([, sessionId]) => sessionId as string);
  const owners = byId(
    await select(sql, `tenant_id = ? AND id IN (${list(ownerIds.length)})`, [tenantId, ...ownerIds]),
  );
  for (const [alias, sessionId] of aliases) {
    const owner = owners.get(sessionId as string);
    if (owner) found.set(alias as string, owner);
  }
  return found;
}

async function selectLocked(sql: Sql, tenantId: string, ids: readonly string[]): Promise<LockedSession[]> {
  if (ids.length === 0) return [];
  return select(sql, `tenant_id = ? AND id IN (${list(ids.length)})${lockRows(sql)}`, [tenantId, ...ids]);
}

async function select(sql: Sql, where: string, args: readonly SqlValue[]): Promise<LockedSession[]> {
  const columns = `${sessionHeadShape.columnList}, ${nowUsSql[sql.dialect]}`;
  const rows = await sql.query(`SELECT ${columns} FROM sessions WHERE ${where}`, args);
  return rows.map((row) => ({
    ...sessionHeadShape.read(row)!,
    nowUs: asBigInt(row[sessionHeadShape.columns.length]),
  }));
}

function byId(sessions: readonly LockedSession[]): Map<string, LockedSession> {
  return new Map(sessions.map((session) => [session.id, session]));
}
