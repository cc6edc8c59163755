import { pausing } from "../../domain/pausing.js";
import { list, type Sql } from "../sql.js";
import { readTrees, type TreeBranch, touchedBranches } from "./branch-trees.js";
import { type SessionRow, sessionShape } from "./rows.js";

export interface Erasure {
  readonly erasedTurns: number;
  readonly keptTurns: number;
}

type Pause = ReturnType<typeof pausing>;

/** So many turns are looked at, and so many deleted with their messages, by one statement: SQLite runs it in this thread. */
const lookTurns = 500;
const deleteRows = 16;

/**
 * Removes a session and every turn that no other session reaches: neither as an ancestor of its head, nor as an ancestor of a turn
 * that was written through it. What is kept of a branch is always its beginning, so one depth per branch says it all.
 */
export async function eraseSession(sql: Sql, session: SessionRow): Promise<Erasure> {
  const { tenantId } = session;
  const pause = pausing();
  const touched = await touchedBranches(sql, session, pause);
  const branches = await readTrees(sql, tenantId, touched.branchIds, pause);
  const kept = await keptDepths(sql, session, branches, pause);
  const keptDepth = ({ id, forkDepth }: TreeBranch) => Math.max(kept.get(id) ?? 0, forkDepth);

  let erasedTurns = 0;
  for (const branch of branches.values()) {
    const depth = keptDepth(branch);
    erasedTurns += await eraseAbove(sql, tenantId, branch, depth, pause);
    if (depth === branch.forkDepth)
      await sql.execute("DELETE FROM branches WHERE tenant_id = ? AND id = ?", [tenantId, branch.id]);
  }
  erasedTurns += await eraseUnplaced(sql, tenantId, touched.unplaced, pause);
  await eraseRows(sql, session, pause);
  return { erasedTurns, keptTurns: keptOfThread(session, branches, keptDepth) };
}

/** The sub-agents of a session and theirs, each before its own; no more than one above a maximum. */
export async function findSubAgents(
  sql: Sql,
  { tenantId, id }: Pick<SessionRow, "tenantId" | "id">,
  max: number,
): Promise<SessionRow[]> {
  const found: SessionRow[] = [];
  const parents = [id];
  for (let parent = parents.shift(); parent !== undefined; parent = parents.shift()) {
    const rows = await sql.query(selectSubAgents, [tenantId, parent, max + 1 - found.length]);
    const subAgents = rows.map((row) => sessionShape.read(row)!);
    found.push(...subAgents);
    if (found.length > max) break;
    parents.push(...subAgents.map((session) => session.id));
  }
  return found;
}

const selectSubAgents = `SELECT ${sessionShape.columnList} FROM sessions WHERE tenant_id = ? AND parent_session_id = ? ORDER BY id LIMIT ?`;

/** How deep each branch is reached by sessions other than this one. */
async function keptDepths(
  sql: Sql,
  { tenantId, id }: SessionRow,
  branches: ReadonlyMap<string, TreeBranch>,
  pause: Pause,
): Promise<Map<string, number>> {
  const kept = new Map<string, number>();
  const keep = (branchId: string, depth: number) => {
    if (branches.has(branchId)) kept.set(branchId, Math.max(kept.get(branchId) ?? 0, depth));
  };
  const ids = [...branches.keys()];
  for (let at = 0; at < ids.length; at += lookTurns, await pause()) {
    const some = ids.slice(at, at + lookTurns);
    const heads = await sql.query(
      `SELECT head_branch_id, MAX(head_depth) FROM sessions WHERE tenant_id = ? AND id <> ? AND head_branch_id IN (${list(some.length)}) GROUP BY head_branch_id`,
      [tenantId, id, ...some],
    );
    for (const [branchId, depth] of heads) keep(branchId as string, Number(depth));
  }
  // A branch forks deeper than its parent did: from the deepest fork up, a branch is final before it is laid on its parent.
  for (const branch of [...branches.values()].sort((a, b) => b.forkDepth - a.forkDepth)) {
    const known = Math.max(kept.get(branch.id) ?? 0, branch.forkDepth);
    const depth = await deepestOfOthers(sql, tenantId, id, branch, known, pause);
    if (depth > branch.forkDepth) {
      keep(branch.id, depth);
      if (branch.parentBranchId !== null) keep(branch.parentBranchId, branch.forkDepth);
    }
  }
  return kept;
}

/** The deepest turn of a branch that another session wrote, or that an open or failed turn of another one hangs off; looks no deeper than what is known. */
async function deepestOfOthers(
  sql: Sql,
  tenantId: string,
  sessionId: string,
  branch: TreeBranch,
  known: number,
  pause: Pause,
): Promise<number> {
  for (let to = branch.topDepth; to > known; to -= lookTurns, await pause()) {
    const from = Math.max(known, to - lookTurns);
    const [row] = await sql.query(selectDeepest, [tenantId, branch.id, from, to, sessionId, sessionId]);
    if (row && row[0] !== null) return Number(row[0]);
  }
  return known;
}

const selectDeepest = `SELECT MAX(t.depth) FROM turns t
WHERE t.tenant_id = ? AND t.branch_id = ? AND t.depth > ? AND t.depth <= ? AND (
  (t.session_id <> ? AND EXISTS (SELECT 1 FROM sessions s WHERE s.tenant_id = t.tenant_id AND s.id = t.session_id))
  OR EXISTS (SELECT 1 FROM turns u WHERE u.tenant_id = t.tenant_id AND u.parent_turn_id = t.id AND u.branch_id IS NULL AND u.session_id <> ?))`;

/** The turns of a branch above a depth, with all that hangs off them. */
async function eraseAbove(
  sql: Sql,
  tenantId: string,
  branch: TreeBranch,
  keptDepth: number,
  pause: Pause,
): Promise<number> {
  let turns = 0;
  for (let to = branch.topDepth; to > keptDepth; to -= deleteRows, await pause()) {
    const range = [tenantId, branch.id, Math.max(keptDepth, to - deleteRows), to];
    await sql.execute(deleteModelCalls, [tenantId, ...range]);
    await sql.execute(deletePending, [tenantId, ...range]);
    await sql.execute(deleteRange("search_documents"), range);
    await sql.execute(deleteRange("messages"), range);
    await pause();
    await sql.execute(deleteHeld, [tenantId, ...range]);
    await sql.execute(deleteRange("compactions"), range);
    turns += await sql.execute(deleteRange("turns"), range);
  }
  return turns;
}

const deleteRange = (table: string) =>
  `DELETE FROM ${table} WHERE tenant_id = ? AND branch_id = ? AND depth > ? AND depth <= ?`;

const deleteHeld = `DELETE FROM session_compactions WHERE tenant_id = ? AND compaction_id IN
(SELECT id FROM compactions WHERE tenant_id = ? AND branch_id = ? AND depth > ? AND depth <= ?)`;

const deleteModelCalls = `DELETE FROM model_calls WHERE tenant_id = ? AND turn_id IN
(SELECT id FROM turns WHERE tenant_id = ? AND branch_id = ? AND depth > ? AND depth <= ?)`;

const deletePending = `DELETE FROM search_pending WHERE tenant_id = ? AND kind = 'turn' AND ref_id IN
(SELECT id FROM turns WHERE tenant_id = ? AND branch_id = ? AND depth > ? AND depth <= ?)`;

/** Turns of the session that never got a place: open and failed ones. */
async function eraseUnplaced(
  sql: Sql,
  tenantId: string,
  turnIds: readonly string[],
  pause: Pause,
): Promise<number> {
  for (let at = 0; at < turnIds.length; at += deleteRows, await pause()) {
    const some = turnIds.slice(at, at + deleteRows);
    const within = `IN (${list(some.length)})`;
    await sql.execute(
      `DELETE FROM session_compactions WHERE tenant_id = ? AND compaction_id IN (SELECT id FROM compactions WHERE tenant_id = ? AND anchor_turn_id ${within})`,
      [tenantId, tenantId, ...some],
    );
    for (const [table, column] of [
      ["messages", "turn_id"],
      ["compactions", "anchor_turn_id"],
      ["model_calls", "turn_id"],
      ["turns", "id"],
    ])
      await sql.execute(`DELETE FROM ${table} WHERE tenant_id = ? AND ${column} ${within}`, [
        tenantId,
        ...some,
      ]);
  }
  return turnIds.length;
}

/** The session itself, and what is only of it. */
async function eraseRows(sql: Sql, session: SessionRow, pause: Pause): Promise<void> {
  const { tenantId, id: sessionId, forkedFromSessionId } = session;
  for (const [table, key] of [
    ["head_moves", "sequence"],
    ["session_aliases", "alias"],
    ["session_metadata", "key"],
    ["stored_answers", "(method, request_id)"],
    ["receipts", "id"],
    ["context_pins", "(model, role, replay, limit_tokens)"],
  ] as const) {
    const columns = key.replaceAll(/[()]/g, "");
    const text = `DELETE FROM ${table} WHERE tenant_id = ? AND session_id = ? AND ${key} IN (SELECT ${columns} FROM ${table} WHERE tenant_id = ? AND session_id = ? LIMIT ${deleteRows})`;
    let deleted = deleteRows;
    for (; deleted === deleteRows; await pause())
      deleted = await sql.execute(text, [tenantId, sessionId, tenantId, sessionId]);
  }
  await eraseHeld(sql, tenantId, sessionId, pause);
  await sql.execute("DELETE FROM sessions WHERE tenant_id = ? AND id = ?", [tenantId, sessionId]);
  if (forkedFromSessionId !== null)
    await sql.execute(
      "UPDATE sessions SET fork_count = fork_count - 1 WHERE tenant_id = ? AND id = ? AND fork_count > 0",
      [tenantId, forkedFromSessionId],
    );
  await sql.execute(
    "INSERT INTO erasure_epochs (tenant_id, epoch) VALUES (?, 1) ON CONFLICT (tenant_id) DO UPDATE SET epoch = erasure_epochs.epoch + 1",
    [tenantId],
  );
}

/** The session's compactions: those that no other session holds, too. */
async function eraseHeld(sql: Sql, tenantId: string, sessionId: string, pause: Pause): Promise<void> {
  for (;;) {
    const rows = await sql.query(selectHeld, [tenantId, sessionId]);
    if (rows.length === 0) return;
    const ids = rows.map(([id]) => id as string);
    const within = `IN (${list(ids.length)})`;
    await sql.execute(
      `DELETE FROM session_compactions WHERE tenant_id = ? AND session_id = ? AND compaction_id ${within}`,
      [tenantId, sessionId, ...ids],
    );
    await sql.execute(
      `DELETE FROM compactions WHERE tenant_id = ? AND id ${within} AND NOT EXISTS (SELECT 1 FROM session_compactions h WHERE h.tenant_id = compactions.tenant_id AND h.compaction_id = compactions.id)`,
      [tenantId, ...ids],
    );
    await pause();
  }
}

const selectHeld = `SELECT compaction_id FROM session_compactions WHERE tenant_id = ? AND session_id = ? LIMIT ${deleteRows}`;

/** How many turns of the session's thread stay. */
function keptOfThread(
  session: SessionRow,
  branches: ReadonlyMap<string, TreeBranch>,
  keptDepth: (branch: TreeBranch) => number,
): number {
  let turns = 0;
  let toDepth = session.headDepth;
  let branch = branches.get(session.headBranchId ?? "");
  while (branch) {
    turns += Math.max(0, Math.min(keptDepth(branch), toDepth) - branch.forkDepth);
    toDepth = branch.forkDepth;
    branch = branches.get(branch.parentBranchId ?? "");
  }
  return turns;
}
