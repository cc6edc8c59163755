import { type Dialect, list, type Sql, type SqlRow, type SqlValue } from "../sql.js";
import { aliasesOf } from "./find-session.js";
import { type SessionRow, sessionShape } from "./rows.js";
import { valueStart } from "./session-metadata.js";

/** A session with its other names. */
export interface StoredSession {
  readonly row: SessionRow;
  readonly aliases: readonly string[];
}

export interface MetadataFilter {
  readonly key: string;
  /** Any value where it is undefined. */
  readonly value?: { readonly $case: "equals" | "prefix"; readonly value: string } | undefined;
}

export interface SessionFilter {
  readonly labelPrefix: string;
  readonly parentSessionId: string;
  readonly taskStatus: string;
  readonly metadata: readonly MetadataFilter[];
  /** Sessions made before this one. */
  readonly beforeId: string;
  readonly limit: number;
}

/** So many sessions that an index finds are looked up by their ids; where there are more of them, the newest sessions are looked through. */
const fewSessions = 1_000;
const lookedThrough = 1_000;
/** For a page of so many, the newest of so many times as many are looked at first. */
const newestOf = 2;
const idsAtOnce = 100;

/** Sessions, the newest first. What it takes follows what is listed, not how many sessions there are. */
export async function listSessionRows(
  sql: Sql,
  tenantId: string,
  filter: SessionFilter,
): Promise<StoredSession[]> {
  const { labelPrefix, metadata } = filter;
  const all = sessionsOf(tenantId, filter);
  const labels = labelPrefix === "" ? [] : [labelled(labelPrefix, sql.dialect)];
  const wanted = both(all, ...labels, ...metadata.map((entry) => hasMetadata(entry, sql.dialect)));
  // The index has the sessions with one value in the order in which they are listed.
  const exact = metadata.find(({ value }) => value?.$case === "equals");
  if (exact) return lookThrough(sql, withValue(tenantId, exact), wanted, filter);
  if (labelPrefix !== "" || metadata.length > 0) {
    // What most sessions have is found among the newest, without a look at the indexes.
    const { found } = await lookAt(sql, all, wanted, filter, newestOf * filter.limit);
    if (found.length >= filter.limit) return found;
  }
  const lookups = [
    ...(labelPrefix === "" ? [] : [labelLookup(tenantId, labelPrefix, sql.dialect)]),
    ...metadata.map((entry) => metadataLookup(tenantId, entry)),
  ];
  for (const { from, where, args, id } of lookups) {
    const found = await sql.query(`SELECT ${id} FROM ${from} WHERE ${where} LIMIT ${fewSessions + 1}`, args);
    const ids = found.map(([sessionId]) => sessionId as string);
    if (ids.length <= fewSessions) return amongIds(sql, ids, wanted, filter);
  }
  if (lookups.length === 0) return select(sql, before(all, filter.beforeId), everything, filter.limit);
  return lookThrough(sql, all, wanted, filter);
}

interface Condition {
  readonly where: string;
  readonly args: readonly SqlValue[];
}

/** Where sessions `s` are read from, in the order of `id`. */
interface Source extends Condition {
  readonly from: string;
  readonly id: string;
}

function both(first: Condition, ...others: readonly Condition[]): Condition {
  const all = [first, ...others].filter(({ where }) => where !== "");
  return { where: all.map(({ where }) => where).join(" AND "), args: all.flatMap(({ args }) => args) };
}

const sessions = { from: "sessions s", id: "s.id" };
const everything: Condition = { where: "", args: [] };

function sessionsOf(tenantId: string, { parentSessionId, taskStatus }: SessionFilter): Source {
  const given = [
    ["s.tenant_id =", tenantId],
    ["s.parent_session_id =", parentSessionId],
    ["s.task_status =", taskStatus],
  ].filter(([, value]) => value !== "");
  return {
    ...sessions,
    where: given.map(([column]) => `${column} ?`).join(" AND "),
    args: given.map(([, value]) => value!),
  };
}

function before(source: Source, id: string): Source {
  return id === "" ? source : { ...source, ...both(source, { where: `${source.id} < ?`, args: [id] }) };
}

/**
 * Compares bytes on both databases: SQLite's LIKE would ignore case, and PostgreSQL's order is that of the database's collation.
 * Where the index of labels is not to be used, SQLite must be told: it would look up all of them, and sort what it finds.
 */
function labelled(prefix: string, dialect: Dialect, byIndex = false): Condition {
  const label = dialect === "postgresql" ? `s.label COLLATE "C"` : byIndex ? "s.label" : "+s.label";
  return { where: `${label} >= ? AND ${label} < ?`, args: [prefix, `${prefix}\u{10ffff}`] };
}

function labelLookup(tenantId: string, prefix: string, dialect: Dialect): Source {
  return {
    ...sessions,
    ...both({ where: "s.tenant_id = ?", args: [tenantId] }, labelled(prefix, dialect, true)),
  };
}

/** A session's own row of the metadata is looked at: SQLite must be told not to begin with all rows of the value. */
function hasMetadata({ key, value }: MetadataFilter, dialect: Dialect): Condition {
  const start = dialect === "sqlite" ? "+m.value_start" : "m.value_start";
  const own = { where: "m.tenant_id = s.tenant_id AND m.session_id = s.id AND m.key = ?", args: [key] };
  const { where, args } = both(own, matching(value, start));
  return { where: `EXISTS (SELECT 1 FROM session_metadata m WHERE ${where})`, args };
}

function metadataLookup(tenantId: string, { key, value }: MetadataFilter): Source {
  const named = { where: "m.tenant_id = ? AND m.key = ?", args: [tenantId, key] };
  return { from: "session_metadata m", id: "m.session_id", ...both(named, matching(value, "m.value_start")) };
}

function withValue(tenantId: string, filter: MetadataFilter): Source {
  const { where, args } = metadataLookup(tenantId, filter);
  // The order of this join is kept by SQLite.
  const from = "session_metadata m CROSS JOIN sessions s";
  return {
    from,
    id: "m.session_id",
    where: `${where} AND s.tenant_id = m.tenant_id AND s.id = m.session_id`,
    args,
  };
}

function matching(value: MetadataFilter["value"], start: string): Condition {
  if (!value || (value.$case === "prefix" && value.value === "")) return everything;
  if (value.$case === "equals")
    return { where: `${start} = ? AND m.value = ?`, args: [valueStart(value.value), value.value] };
  const from = Buffer.from(value.value);
  // No text has a byte of 255.
  return { where: `${start} >= ? AND ${start} < ?`, args: [from, Buffer.concat([from, Buffer.of(255)])] };
}

/** Those of some sessions that are wanted. */
async function amongIds(
  sql: Sql,
  ids: readonly string[],
  wanted: Condition,
  { beforeId, limit }: SessionFilter,
): Promise<StoredSession[]> {
  const newest = ids.filter((id) => beforeId === "" || id < beforeId).sort((a, b) => (a < b ? 1 : -1));
  const found: StoredSession[] = [];
  for (let at = 0; at < newest.length && found.length < limit; at += idsAtOnce) {
    const some = newest.slice(at, at + idsAtOnce);
    const among = { where: `s.id IN (${list(some.length)})`, args: some };
    const source = { ...sessions, ...both(wanted, among) };
    found.push(...(await select(sql, source, everything, limit - found.length)));
  }
  return found;
}

/** The newest sessions of a source, a thousand at a time, until enough of them are found. */
async function lookThrough(
  sql: Sql,
  source: Source,
  wanted: Condition,
  filter: SessionFilter,
): Promise<StoredSession[]> {
  const found: StoredSession[] = [];
  for (let { beforeId } = filter; ; ) {
    const limit = filter.limit - found.length;
    const looked = await lookAt(sql, source, wanted, { beforeId, limit }, lookedThrough);
    found.push(...looked.found);
    if (looked.lastId === undefined || found.length >= filter.limit) return found;
    beforeId = looked.lastId;
    await new Promise((turn) => setImmediate(turn));
  }
}

/** What is wanted among the next so many sessions of a source, and the last that was looked at; undefined where there are no more. */
async function lookAt(
  sql: Sql,
  source: Source,
  wanted: Condition,
  { beforeId, limit }: Pick<SessionFilter, "beforeId" | "limit">,
  count: number,
): Promise<{ readonly found: StoredSession[]; readonly lastId: string | undefined }> {
  const { from, id, where, args } = before(source, beforeId);
  const [last] = await sql.query(
    `SELECT ${id} FROM ${from} WHERE ${where} ORDER BY ${id} DESC LIMIT 1 OFFSET ?`,
    [...args, count - 1],
  );
  const lastId = last?.[0] as string | undefined;
  const upTo = lastId === undefined ? everything : { where: `${id} >= ?`, args: [lastId] };
  const within = { from, id, ...both({ where, args }, upTo) };
  return { found: await select(sql, within, wanted, limit), lastId };
}

/** A page of sessions with all their tools could be a gigabyte. */
const columns = sessionShape.columns.map(([key, column]) => (key === "toolsJson" ? "NULL" : `s.${column}`));

async function select(sql: Sql, source: Source, wanted: Condition, limit: number): Promise<StoredSession[]> {
  const { where, args } = both(source, wanted);
  const text = `SELECT ${columns}, ${aliasesOf[sql.dialect]} FROM ${source.from} WHERE ${where} ORDER BY ${source.id} DESC LIMIT ?`;
  return (await sql.query(text, [...args, limit])).map(storedSession);
}

export function storedSession(values: SqlRow): StoredSession {
  const aliases = JSON.parse((values[sessionShape.columns.length] as string | null) ?? "[]") as string[];
  return { row: sessionShape.read(values)!, aliases };
}
