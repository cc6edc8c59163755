import type { Database, PrismaTransaction } from "../database.js";
import { asStorageError } from "../storage-error.js";
import { findAnswer, idempotentWrite, replayAnswer, type WriteKey } from "../stored-answers.js";
import { type CompactionRow, compactionShape, type SessionRow } from "./rows.js";
import type { ThreadSegment } from "./thread-store.js";
import { erasureLock } from "./write-turns.js";

/** What came of a write: the compaction that applies now, and whether it is the one that was to be written. */
export type CompactionOutcome =
  | { readonly kind: "written"; readonly row: CompactionRow }
  /** Another one was faster. */
  | { readonly kind: "superseded"; readonly row: CompactionRow | undefined }
  /** The turn that it hangs off was erased, or the session. */
  | { readonly kind: "anchorGone" }
  /** This model call had its recovery already. */
  | { readonly kind: "recoveredBefore" };

/** The thread that a compaction is for: the runs of its turns, and the open turn at its end, if it has one. */
export interface CompactedThread {
  readonly segments: readonly ThreadSegment[];
  readonly activeTurn: { readonly id: string } | undefined;
}

const lockThread =
  "SELECT pg_advisory_xact_lock(hashtextextended('quire-compaction/' || CAST($1 AS TEXT), 0))";
const lockAnchor = "SELECT 1 FROM turns WHERE tenant_id = $1 AND id = $2 FOR SHARE";
const lockSession = "SELECT 1 FROM sessions WHERE tenant_id = $1 AND id = $2 FOR UPDATE";
const shareErasureLock = erasureLock("pg_advisory_xact_lock_shared", "$1");
const selectCompaction = `SELECT ${compactionShape.columnList} FROM compactions WHERE tenant_id = ?`;
/** Made once: long texts are slow to compare. */
const selectOwn = `${selectCompaction} AND anchor_turn_id = ? AND applied_us IS NOT NULL ORDER BY id DESC LIMIT 1`;
const selectById = `${selectCompaction} AND id = ?`;
const newestWhere = (condition: string) =>
  `${selectCompaction} AND branch_id = ? AND depth BETWEEN ? AND ? AND ${condition} ORDER BY depth DESC, id DESC LIMIT 1`;
const selectApplied = newestWhere("applied_us IS NOT NULL");
const selectPrepared = newestWhere("applied_us IS NULL AND previous_id = ?");
const selectFirstPrepared = newestWhere("applied_us IS NULL AND previous_id IS NULL");

/** Compactions as they are stored. */
export class CompactionStore {
  constructor(private readonly database: Database) {}

  /** The compaction that applies to a thread: of all that hang off its turns, the one at the deepest turn, then the newest. */
  async latest(tenantId: string, thread: CompactedThread): Promise<CompactionRow | undefined> {
    if (thread.activeTurn) {
      const own = await this.one(selectOwn, [tenantId, thread.activeTurn.id]);
      if (own) return own;
    }
    return this.inSegments(tenantId, thread.segments, selectApplied, []);
  }

  /** The newest one that was prepared on top of what applies now, and waits until it is needed. */
  async prepared(
    tenantId: string,
    segments: readonly ThreadSegment[],
    current: CompactionRow | undefined,
  ): Promise<CompactionRow | undefined> {
    return current
      ? this.inSegments(tenantId, segments, selectPrepared, [current.id])
      : this.inSegments(tenantId, segments, selectFirstPrepared, []);
  }

  async find(tenantId: string, id: string): Promise<CompactionRow | undefined> {
    return this.one(selectById, [tenantId, id]);
  }

  /** Those that apply and hang off the given turns, the newest first. */
  async ofTurns(tenantId: string, turnIds: readonly string[]): Promise<CompactionRow[]> {
    if (turnIds.length === 0) return [];
    return this.reading(() =>
      this.database.reader.compaction.findMany({
        where: { tenantId, anchorTurnId: { in: [...turnIds] }, appliedUs: { not: null } },
        orderBy: { id: "desc" },
      }),
    );
  }

  /** The answer to this very request, if it was done before. */
  async answered<Answer>(key: WriteKey<Answer>): Promise<Answer | undefined> {
    const stored = await this.reading(() => findAnswer(this.database.reader, key));
    return stored && replayAnswer(key, stored);
  }

  /** How many recoveries a session's model calls had that are called so or begin so; they hang off one of these turns. */
  async recoveries(
    tenantId: string,
    sessionId: string,
    anchorTurnIds: readonly string[],
    call: string | { readonly startsWith: string },
  ): Promise<number> {
    const where = { tenantId, sessionId, anchorTurnId: { in: [...anchorTurnIds] }, recoveredCall: call };
    return this.reading(() => this.database.reader.compaction.count({ where }));
  }

  /** Writes a compaction if the thread still has the one that it was made on top of; with it, a limit that the session is told of. */
  async write<Answer>(
    key: WriteKey<Answer>,
    row: CompactionRow,
    thread: CompactedThread,
    answer: (outcome: CompactionOutcome) => Answer,
    told?: (session: SessionRow) => Partial<SessionRow>,
  ): Promise<Answer> {
    return this.locked(key, row, async (tx) => {
      const anchor = await tx.turn.findUnique({
        where: { tenantId_id: { tenantId: row.tenantId, id: row.anchorTurnId } },
      });
      const { tenantId, sessionId, recoveredCall } = row;
      if (told && this.database.dialect === "postgresql")
        await tx.$executeRawUnsafe(lockSession, tenantId, sessionId);
      const session = await tx.session.findUnique({ where: { tenantId_id: { tenantId, id: sessionId } } });
      if (!anchor || !session) return answer({ kind: "anchorGone" });
      const again = { tenantId, sessionId, anchorTurnId: anchor.id, recoveredCall };
      if (recoveredCall !== null && (await tx.compaction.count({ where: again })) > 0)
        return answer({ kind: "recoveredBefore" });
      const current = await latestIn(tx, row.tenantId, thread);
      if ((current?.id ?? null) !== row.previousId) return answer({ kind: "superseded", row: current });
      // An open turn may have been finished meanwhile.
      const placed = { ...row, branchId: anchor.branchId, depth: anchor.depth };
      await tx.compaction.create({ data: placed });
      if (told) await tx.session.updateMany({ where: { tenantId, id: sessionId }, data: told(session) });
      return answer({ kind: "written", row: placed });
    });
  }

  /** Puts a prepared compaction in force, if the thread still has the one that it was made on top of. */
  async apply(
    prepared: CompactionRow,
    thread: CompactedThread,
    appliedUs: bigint,
  ): Promise<CompactionOutcome> {
    const { tenantId, id } = prepared;
    return this.locked(noKey(tenantId), prepared, async (tx): Promise<CompactionOutcome> => {
      const current = await latestIn(tx, tenantId, thread);
      if (current?.id === id) return { kind: "written", row: current };
      if ((current?.id ?? null) !== prepared.previousId) return { kind: "superseded", row: current };
      const { count } = await tx.compaction.updateMany({
        where: { tenantId, id, appliedUs: null },
        data: { appliedUs },
      });
      return count === 1
        ? { kind: "written", row: { ...prepared, appliedUs } }
        : { kind: "superseded", row: await latestIn(tx, tenantId, thread) };
    });
  }

  /** One transaction at a time for the compactions of a branch; erasures wait for it. Writers of turns do not. */
  private locked<Answer>(
    key: WriteKey<Answer>,
    row: CompactionRow,
    work: (tx: PrismaTransaction) => Promise<Answer>,
  ): Promise<Answer> {
    return idempotentWrite(
      this.database,
      key,
      row.createdUs,
      async (tx) => ({ answer: await work(tx), sessionId: row.sessionId }),
      async (tx) => {
        if (this.database.dialect === "sqlite") return;
        await tx.$executeRawUnsafe(shareErasureLock, row.tenantId);
        await tx.$executeRawUnsafe(lockThread, `${row.tenantId}/${row.branchId ?? row.anchorTurnId}`);
        // An open turn that is finished now would not see this compaction, and not give it its place.
        if (row.branchId === null) await tx.$executeRawUnsafe(lockAnchor, row.tenantId, row.anchorTurnId);
      },
    );
  }

  private async inSegments(
    tenantId: string,
    segments: readonly ThreadSegment[],
    select: string,
    args: readonly string[],
  ): Promise<CompactionRow | undefined> {
    for (const { branchId, fromDepth, toDepth } of segments.toReversed()) {
      const found = await this.one(select, [tenantId, branchId, fromDepth, toDepth, ...args]);
      if (found) return found;
    }
    return undefined;
  }

  private async one(text: string, args: readonly (string | number)[]): Promise<CompactionRow | undefined> {
    const [row] = await this.reading(() => this.database.sqlReader.query(text, args));
    return row && compactionShape.read(row);
  }

  private async reading<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

/** For writes that no caller can send again. */
export function noKey<Answer>(tenantId: string): WriteKey<Answer> {
  return {
    tenantId,
    method: "",
    requestId: "",
    requestHash: Buffer.alloc(0),
    encode: () => Buffer.alloc(0),
    decode: () => {
      throw new Error("nothing was stored under an empty request id");
    },
  };
}

/** The same as `latest`, inside a transaction. */
async function latestIn(
  tx: PrismaTransaction,
  tenantId: string,
  thread: CompactedThread,
): Promise<CompactionRow | undefined> {
  const applied = { tenantId, appliedUs: { not: null } };
  if (thread.activeTurn) {
    const own = await tx.compaction.findFirst({
      where: { ...applied, anchorTurnId: thread.activeTurn.id },
      orderBy: { id: "desc" },
    });
    if (own) return own;
  }
  for (const { branchId, fromDepth, toDepth } of thread.segments.toReversed()) {
    const found = await tx.compaction.findFirst({
      where: { ...applied, branchId, depth: { gte: fromDepth, lte: toDepth } },
      orderBy: [{ depth: "desc" }, { id: "desc" }],
    });
    if (found) return found;
  }
  return undefined;
}
