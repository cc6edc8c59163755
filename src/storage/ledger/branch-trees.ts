import type { pausing } from "../../domain/pausing.js";
import { list, type Sql, type SqlRow } from "../sql.js";
import type { SessionRow } from "./rows.js";

/** A branch, and its deepest turn. */
export interface TreeBranch {
  readonly id: string;
  readonly parentBranchId: string | null;
  readonly forkDepth: number;
  readonly topDepth: number;
}

type Pause = ReturnType<typeof pausing>;

const sliceRows = 500;

/** What a session's writes and moves have touched. */
export interface Touched {
  /** Every branch that its head was ever on, or that was written to, or under, through it. */
  readonly branchIds: ReadonlySet<string>;
  /** Its turns that never got a place: open and failed ones. */
  readonly unplaced: readonly string[];
}

export async function touchedBranches(sql: Sql, session: SessionRow, pause: Pause): Promise<Touched> {
  const { tenantId, id: sessionId } = session;
  const branchIds = new Set<string>();
  const unplaced: string[] = [];
  const add = (branchId: unknown) => {
    if (branchId !== null) branchIds.add(branchId as string);
  };
  await slices(sql, selectOwn, [tenantId, sessionId], "", pause, ([id, branchId, parentBranch]) => {
    if (branchId === null) unplaced.push(id as string);
    add(branchId ?? parentBranch);
  });
  await slices(sql, selectMoves, [tenantId, sessionId], 0, pause, ([, branchId]) => add(branchId));
  return { branchIds, unplaced };
}

/** Rows in the order of their first column, some at a time. */
async function slices(
  sql: Sql,
  text: string,
  args: readonly string[],
  first: string | number,
  pause: Pause,
  take: (row: SqlRow) => void,
): Promise<void> {
  for (let after = first; ; await pause()) {
    const rows = await sql.query(text, [...args, after]);
    for (const row of rows) take(row);
    if (rows.length < sliceRows) return;
    after = rows.at(-1)![0] as string | number;
  }
}

/** The turns that were written through a session; of those without a place, the branch of their parent. */
const selectOwn = `SELECT t.id, t.branch_id, p.branch_id FROM turns t
LEFT JOIN turns p ON t.branch_id IS NULL AND p.tenant_id = t.tenant_id AND p.id = t.parent_turn_id
WHERE t.tenant_id = ? AND t.session_id = ? AND t.id > ? ORDER BY t.id LIMIT ${sliceRows}`;

const selectMoves = `SELECT m.sequence, t.branch_id FROM head_moves m
JOIN turns t ON t.tenant_id = m.tenant_id AND t.id = m.to_turn_id
WHERE m.tenant_id = ? AND m.session_id = ? AND m.sequence > ? ORDER BY m.sequence LIMIT ${sliceRows}`;

/** The whole trees that the given branches stand in. */
export async function readTrees(
  sql: Sql,
  tenantId: string,
  touched: ReadonlySet<string>,
  pause: Pause,
): Promise<Map<string, TreeBranch>> {
  const found = new Map<string, TreeBranch>();
  const collect = async (column: "id" | "parent_branch_id", wanted: readonly string[]) => {
    const added: TreeBranch[] = [];
    for (let at = 0; at < wanted.length; at += sliceRows, await pause()) {
      const some = wanted.slice(at, at + sliceRows);
      const rows = await sql.query(`${selectBranches} AND b.${column} IN (${list(some.length)})`, [
        tenantId,
        ...some,
      ]);
      for (const branch of rows.map(treeBranch)) {
        if (found.has(branch.id)) continue;
        found.set(branch.id, branch);
        added.push(branch);
      }
    }
    return added;
  };
  let upwards: readonly string[] = [...touched];
  while (upwards.length > 0) {
    const added = await collect("id", upwards);
    upwards = added.flatMap((branch) => branch.parentBranchId ?? []);
  }
  let downwards = [...found.keys()];
  while (downwards.length > 0) {
    const added = await collect("parent_branch_id", downwards);
    downwards = added.map((branch) => branch.id);
  }
  return found;
}

const selectBranches = `SELECT b.id, b.parent_branch_id, b.fork_depth,
(SELECT MAX(t.depth) FROM turns t WHERE t.tenant_id = b.tenant_id AND t.branch_id = b.id)
FROM branches b WHERE b.tenant_id = ?`;

function treeBranch([id, parentBranchId, forkDepth, topDepth]: SqlRow): TreeBranch {
  return {
    id: id as string,
    parentBranchId: parentBranchId as string | null,
    forkDepth: Number(forkDepth),
    topDepth: Number(topDepth ?? forkDepth),
  };
}
