import type { PrismaTransaction } from "../database.js";
import type { SessionRow } from "./rows.js";

export interface Erasure {
  readonly erasedTurns: number;
  readonly keptTurns: number;
}

interface BranchInfo {
  readonly id: string;
  readonly parentBranchId: string | null;
  readonly forkDepth: number;
}

/** Databases bound the values of one statement; lists longer than this are worked off in pieces. */
const chunkSize = 500;

/**
 * Removes a session and every turn that no other session reaches: neither as an ancestor of its head, nor as an ancestor of a turn
 * that was written through it. What is kept of a branch is always its beginning, so one depth per branch says it all.
 */
export async function eraseSession(tx: PrismaTransaction, session: SessionRow): Promise<Erasure> {
  const { tenantId, id: sessionId } = session;
  const lineage = await readLineage(tx, session);
  const branches = await readTrees(tx, tenantId, await touchedBranches(tx, session));
  const kept = await keptDepths(tx, session, branches);

  let erasedTurns = 0;
  for (const branch of branches.values()) {
    const keptDepth = kept.get(branch.id) ?? branch.forkDepth;
    const where = { tenantId, branchId: branch.id, depth: { gt: keptDepth } };
    await tx.messageRow.deleteMany({ where });
    await tx.compaction.deleteMany({ where });
    erasedTurns += (await tx.turn.deleteMany({ where })).count;
    const isEmpty = keptDepth <= branch.forkDepth;
    if (isEmpty) await tx.branch.delete({ where: { tenantId_id: { tenantId, id: branch.id } } });
  }
  erasedTurns += await eraseUnplaced(tx, tenantId, sessionId);

  await tx.headMove.deleteMany({ where: { tenantId, sessionId } });
  await tx.sessionAlias.deleteMany({ where: { tenantId, sessionId } });
  await tx.storedAnswer.deleteMany({ where: { tenantId, sessionId } });
  await tx.receipt.deleteMany({ where: { tenantId, sessionId } });
  await tx.contextPin.deleteMany({ where: { tenantId, sessionId } });
  await tx.session.delete({ where: { tenantId_id: { tenantId, id: sessionId } } });
  if (session.forkedFromSessionId !== null) {
    await tx.session.updateMany({
      where: { tenantId, id: session.forkedFromSessionId, forkCount: { gt: 0 } },
      data: { forkCount: { decrement: 1 } },
    });
  }
  await tx.erasureEpoch.upsert({
    where: { tenantId },
    create: { tenantId, epoch: 1 },
    update: { epoch: { increment: 1 } },
  });
  const keptTurns = lineage.reduce((sum, segment) => {
    const keptDepth = Math.min(kept.get(segment.id) ?? segment.forkDepth, segment.toDepth);
    return sum + Math.max(0, keptDepth - segment.forkDepth);
  }, 0);
  return { erasedTurns, keptTurns };
}

/** Every branch that the session's head was ever on, or that was written to, or under, through it. */
async function touchedBranches(tx: PrismaTransaction, session: SessionRow): Promise<string[]> {
  const { tenantId, id: sessionId } = session;
  const moves = await tx.headMove.findMany({ where: { tenantId, sessionId }, select: { toTurnId: true } });
  const parents = await unplacedParents(tx, tenantId, sessionId);
  const touched = new Set<string>();
  const own = await tx.turn.groupBy({
    by: ["branchId"],
    where: { tenantId, sessionId, branchId: { not: null } },
  });
  for (const entry of own) touched.add(entry.branchId!);
  for (const ids of chunks([...moves.map((move) => move.toTurnId), ...parents])) {
    const passed = await tx.turn.groupBy({
      by: ["branchId"],
      where: { tenantId, id: { in: ids }, branchId: { not: null } },
    });
    for (const entry of passed) touched.add(entry.branchId!);
  }
  return [...touched];
}

async function readLineage(
  tx: PrismaTransaction,
  session: SessionRow,
): Promise<(BranchInfo & { readonly toDepth: number })[]> {
  const lineage: (BranchInfo & { readonly toDepth: number })[] = [];
  let branchId = session.headBranchId;
  let toDepth = session.headDepth;
  while (branchId !== null) {
    const branch: BranchInfo = await tx.branch.findUniqueOrThrow({
      where: { tenantId_id: { tenantId: session.tenantId, id: branchId } },
    });
    lineage.push({ ...branch, toDepth });
    toDepth = branch.forkDepth;
    branchId = branch.parentBranchId;
  }
  return lineage;
}

/** The whole trees that the given branches stand in. */
async function readTrees(
  tx: PrismaTransaction,
  tenantId: string,
  touched: readonly string[],
): Promise<Map<string, BranchInfo>> {
  const found = new Map<string, BranchInfo>();
  const collect = async (
    where: (ids: string[]) => object,
    wanted: readonly string[],
  ): Promise<BranchInfo[]> => {
    const added: BranchInfo[] = [];
    for (const ids of chunks(wanted)) {
      for (const row of await tx.branch.findMany({ where: { tenantId, ...where(ids) } })) {
        if (found.has(row.id)) continue;
        found.set(row.id, row);
        added.push(row);
      }
    }
    return added;
  };
  let upwards: readonly string[] = touched;
  while (upwards.length > 0) {
    const added = await collect((ids) => ({ id: { in: ids } }), upwards);
    upwards = added.flatMap((branch) => branch.parentBranchId ?? []);
  }
  let downwards = [...found.keys()];
  while (downwards.length > 0) {
    const added = await collect((ids) => ({ parentBranchId: { in: ids } }), downwards);
    downwards = added.map((branch) => branch.id);
  }
  return found;
}

/** How deep each branch is reached by sessions other than this one. */
async function keptDepths(
  tx: PrismaTransaction,
  session: SessionRow,
  branches: ReadonlyMap<string, BranchInfo>,
): Promise<Map<string, number>> {
  const { tenantId, id } = session;
  const kept = new Map<string, number>();
  const keep = (branchId: string | null, depth: number | null) => {
    if (branchId === null || depth === null || !branches.has(branchId)) return;
    kept.set(branchId, Math.max(kept.get(branchId) ?? 0, depth));
  };
  for (const ids of chunks([...branches.keys()])) {
    const heads = await tx.session.groupBy({
      by: ["headBranchId"],
      where: { tenantId, id: { not: id }, headBranchId: { in: ids } },
      _max: { headDepth: true },
    });
    for (const head of heads) keep(head.headBranchId, head._max.headDepth);
    const written = await tx.turn.groupBy({
      by: ["branchId", "sessionId"],
      where: { tenantId, sessionId: { not: id }, branchId: { in: ids } },
      _max: { depth: true },
    });
    const writerIds = written.map((entry) => entry.sessionId);
    const writers = await existingSessions(tx, tenantId, writerIds);
    for (const entry of written) if (writers.has(entry.sessionId)) keep(entry.branchId, entry._max.depth);
  }
  for (const ids of chunks(await unplacedParents(tx, tenantId, { not: id }))) {
    const parents = await tx.turn.findMany({
      where: { tenantId, id: { in: ids } },
      select: { branchId: true, depth: true },
    });
    for (const parent of parents) keep(parent.branchId, parent.depth);
  }
  // A branch forks deeper than its parent did: from the deepest fork up, a branch is final before it is laid on its parent.
  for (const branch of [...branches.values()].sort((a, b) => b.forkDepth - a.forkDepth)) {
    if ((kept.get(branch.id) ?? 0) > branch.forkDepth) keep(branch.parentBranchId, branch.forkDepth);
  }
  return kept;
}

/** The parents of open and failed turns. Without its parent an open turn could not be completed. */
async function unplacedParents(
  tx: PrismaTransaction,
  tenantId: string,
  sessionId: string | { readonly not: string },
): Promise<string[]> {
  const where = { tenantId, branchId: null, sessionId, parentTurnId: { not: null } };
  return (await tx.turn.groupBy({ by: ["parentTurnId"], where })).map((turn) => turn.parentTurnId!);
}

async function existingSessions(
  tx: PrismaTransaction,
  tenantId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const some of chunks([...new Set(ids)])) {
    const rows = await tx.session.findMany({ where: { tenantId, id: { in: some } }, select: { id: true } });
    for (const row of rows) found.add(row.id);
  }
  return found;
}

/** Turns of the session that never got a place: open and failed ones. */
async function eraseUnplaced(tx: PrismaTransaction, tenantId: string, sessionId: string): Promise<number> {
  const where = { tenantId, sessionId, branchId: null };
  const turns = await tx.turn.findMany({ where, select: { id: true } });
  for (const ids of chunks(turns.map((turn) => turn.id))) {
    await tx.messageRow.deleteMany({ where: { tenantId, turnId: { in: ids } } });
    await tx.compaction.deleteMany({ where: { tenantId, anchorTurnId: { in: ids } } });
  }
  return (await tx.turn.deleteMany({ where })).count;
}

function chunks<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / chunkSize) }, (_, index) =>
    items.slice(index * chunkSize, (index + 1) * chunkSize),
  );
}
