import { type Dialect, list, type Sql, type SqlRow, type SqlValue } from "../sql.js";
import { aliasesOf } from "./find-session.js";
import { type SessionRow, sessionShape } from "./rows.js";

/** A session with its other names. */
export interface StoredSession {
  readonly row: SessionRow;
  readonly aliases: readonly string[];
}

export interface SessionFilter {
  readonly labelPrefix: string;
  readonly parentSessionId: string;
  readonly taskStatus: string;
  /** Sessions made before this one. */
  readonly beforeId: string;
  readonly limit: number;
}

/** As many sessions with a prefix are looked up by their labels; where there are more of them, the newest sessions are looked through. */
const fewLabels = 200;
const lookedThrough = 1_000;

/** Sessions, the newest first. What it takes follows what is listed, not how many sessions there are. */
export async function listSessionRows(
  sql: Sql,
  tenantId: string,
  filter: SessionFilter,
): Promise<StoredSession[]> {
  if (filter.labelPrefix === "") return select(sql, sessionsBefore(tenantId, filter), filter.limit);
  const labelled = beginsWith(filter.labelPrefix, sql.dialect, true);
  const ids = await sql.query(
    `SELECT s.id FROM sessions s WHERE s.tenant_id = ? AND ${labelled.where} LIMIT ${fewLabels + 1}`,
    [tenantId, ...labelled.args],
  );
  if (ids.length > fewLabels) return lookThrough(sql, tenantId, filter);
  const among = { where: `s.id IN (${list(ids.length)})`, args: ids.map(([id]) => id as string) };
  return ids.length === 0 ? [] : select(sql, both(sessionsBefore(tenantId, filter), among), filter.limit);
}

interface Condition {
  readonly where: string;
  readonly args: readonly SqlValue[];
}

function both(first: Condition, second: Condition): Condition {
  return { where: `${first.where} AND ${second.where}`, args: [...first.args, ...second.args] };
}

function sessionsBefore(tenantId: string, filter: SessionFilter): Condition {
  const { beforeId, parentSessionId, taskStatus } = filter;
  const given = [
    ["s.tenant_id =", tenantId],
    ["s.id <", beforeId],
    ["s.parent_session_id =", parentSessionId],
    ["s.task_status =", taskStatus],
  ].filter(([, value]) => value !== "");
  return {
    where: given.map(([column]) => `${column} ?`).join(" AND "),
    args: given.map(([, value]) => value!),
  };
}

/**
 * Compares bytes on both databases: SQLite's LIKE would ignore case, and PostgreSQL's order is that of the database's collation.
 * Where the index of labels is not to be used, SQLite must be told: it would look up all of them, and sort what it finds.
 */
function beginsWith(prefix: string, dialect: Dialect, byIndex: boolean): Condition {
  const label = dialect === "postgresql" ? `s.label COLLATE "C"` : byIndex ? "s.label" : "+s.label";
  return { where: `${label} >= ? AND ${label} < ?`, args: [prefix, `${prefix}\u{10ffff}`] };
}

/** The newest sessions, a thousand at a time, until enough of them are found. */
async function lookThrough(sql: Sql, tenantId: string, filter: SessionFilter): Promise<StoredSession[]> {
  const labelled = beginsWith(filter.labelPrefix, sql.dialect, false);
  const found: StoredSession[] = [];
  for (let beforeId = filter.beforeId; ; ) {
    const looked = sessionsBefore(tenantId, { ...filter, beforeId });
    const [last] = await sql.query(
      `SELECT s.id FROM sessions s WHERE ${looked.where} ORDER BY s.id DESC LIMIT 1 OFFSET ${lookedThrough - 1}`,
      looked.args,
    );
    const within = last ? both(looked, { where: "s.id >= ?", args: [last[0] as string] }) : looked;
    found.push(...(await select(sql, both(within, labelled), filter.limit - found.length)));
    if (!last || found.length >= filter.limit) return found;
    beforeId = last[0] as string;
    await new Promise((turn) => setImmediate(turn));
  }
}

/** A page of sessions with all their tools could be a gigabyte. */
const columns = sessionShape.columns.map(([key, column]) => (key === "toolsJson" ? "NULL" : `s.${column}`));

async function select(sql: Sql, { where, args }: Condition, limit: number): Promise<StoredSession[]> {
  const text = `SELECT ${columns}, ${aliasesOf[sql.dialect]} FROM sessions s WHERE ${where} ORDER BY s.id DESC LIMIT ?`;
  return (await sql.query(text, [...args, limit])).map(storedSession);
}

export function storedSession(values: SqlRow): StoredSession {
  const aliases = JSON.parse((values[sessionShape.columns.length] as string | null) ?? "[]") as string[];
  return { row: sessionShape.read(values)!, aliases };
}
