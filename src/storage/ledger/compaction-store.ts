import type { Database, PrismaTransaction } from "../database.js";
import type { SqlValue } from "../sql.js";
import { asStorageError } from "../storage-error.js";
import { findAnswer, idempotentWrite, replayAnswer, type WriteKey } from "../stored-answers.js";
import {
  type CompactedThread,
  floorsOf,
  type HeldBy,
  type HeldCompaction,
  type HeldRow,
  hangsOff,
  heldById,
  keepingLeast,
  keepingMost,
} from "./held-compactions.js";
import { type CompactionRow, compactionShape, type SessionRow, type TurnRow } from "./rows.js";
import { erasureLock } from "./write-turns.js";

/** What came of a write. */
export type CompactionOutcome =
  | { readonly kind: "written"; readonly row: CompactionRow }
  /** The session has one for the same place and goal already. */
  | { readonly kind: "superseded"; readonly row: CompactionRow }
  /** The turn that it hangs off was erased, or the session. */
  | { readonly kind: "anchorGone" }
  /** This model call had its recovery already. */
  | { readonly kind: "recoveredBefore" };

/** A compaction to be stored for a session. */
export interface CompactionDraft {
  readonly row: CompactionRow;
  /** What the thread costs before the kept part. */
  readonly before: Pick<TurnRow, "threadTokens" | "threadContextTokens" | "threadMessages">;
  /** The model whose contexts keep no more than it does: "" for all, undefined for none. */
  readonly floorModel: string | undefined;
}

const lockCompactions =
  "SELECT pg_advisory_xact_lock(hashtextextended('quire-compaction/' || CAST($1 AS TEXT), 0))";
const lockAnchor = "SELECT 1 FROM turns WHERE tenant_id = $1 AND id = $2 FOR SHARE";
const lockSession = "SELECT 1 FROM sessions WHERE tenant_id = $1 AND id = $2 FOR UPDATE";
const shareErasureLock = erasureLock("pg_advisory_xact_lock_shared", "$1");
const selectCompaction = `SELECT ${compactionShape.columnList} FROM compactions WHERE tenant_id = ?`;
/** Made once: long texts are slow to compare. */
const selectById = `${selectCompaction} AND id = ?`;
const selectReusable = `${selectCompaction} AND reuse_key = ? ORDER BY id DESC LIMIT 1`;

/** Compactions as they are stored, and the sessions that they apply to. */
export class CompactionStore {
  constructor(private readonly database: Database) {}

  async find(tenantId: string, id: string): Promise<CompactionRow | undefined> {
    return this.one(selectById, [tenantId, id]);
  }

  /** One whose summary was made from the same and in the same way, for whichever session. */
  async reusable(tenantId: string, reuseKey: Buffer): Promise<CompactionRow | undefined> {
    return this.one(selectReusable, [tenantId, reuseKey]);
  }

  /** One that a session holds and that hangs off its thread. */
  async held(of: HeldBy, id: string): Promise<HeldRow | undefined> {
    return this.reading(() => heldById(this.database.sqlReader, of, id));
  }

  /** The compaction that contexts of a model keep no more than: one by hand, or after an overflow of the model. */
  async floor(of: HeldBy, model: string): Promise<HeldCompaction | undefined> {
    return this.reading(() => first(floorsOf(this.database.sqlReader, of, model)));
  }

  /** The one in force that keeps least. */
  async keepingLeast(of: HeldBy): Promise<HeldCompaction | undefined> {
    return this.reading(() =>
      first(keepingLeast(this.database.sqlReader, of), ({ appliedUs }) => appliedUs !== null),
    );
  }

  /** Of those with at least so much before the kept part, the one that keeps most and is taken. */
  async keepingMost(
    of: HeldBy,
    beforeTokens: bigint,
    isTaken: (held: HeldCompaction) => boolean,
  ): Promise<HeldCompaction | undefined> {
    return this.reading(() => first(keepingMost(this.database.sqlReader, of, beforeTokens), isTaken));
  }

  /** The one that keeps least of those that were made for a goal, whether it is in force or waits until it is needed. */
  async madeFor(of: HeldBy, goal: string): Promise<HeldCompaction | undefined> {
    const isFor = (held: HeldCompaction) => held.goal === goal;
    return this.reading(() => first(keepingLeast(this.database.sqlReader, of), isFor));
  }

  /** One that the session has for the same place and goal. */
  async same(of: HeldBy, row: SamePlace, beforeTokens: bigint): Promise<CompactionRow | undefined> {
    const found = await this.keepingMost(of, beforeTokens, (held) => isSame(held, row));
    return found && this.find(of.tenantId, found.id);
  }

  /** Those that a session holds, are in force, and hang off the given turns, the newest first. */
  async ofTurns(tenantId: string, sessionId: string, turnIds: readonly string[]): Promise<CompactionRow[]> {
    if (turnIds.length === 0) return [];
    return this.reading(async () => {
      const { reader } = this.database;
      const rows = await reader.compaction.findMany({
        where: { tenantId, anchorTurnId: { in: [...turnIds] }, appliedUs: { not: null } },
        orderBy: { id: "desc" },
      });
      const held = await reader.sessionCompaction.findMany({
        where: { tenantId, sessionId, compactionId: { in: rows.map(({ id }) => id) } },
        select: { compactionId: true },
      });
      const ids = new Set(held.map(({ compactionId }) => compactionId));
      return rows.filter(({ id }) => ids.has(id));
    });
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

  /** Writes a compaction, unless the session has one for the same place and goal; with it, a limit that the session is told of. */
  async write<Answer>(
    key: WriteKey<Answer>,
    draft: CompactionDraft,
    thread: CompactedThread,
    answer: (outcome: CompactionOutcome) => Answer,
    told?: (session: SessionRow) => Partial<SessionRow>,
  ): Promise<Answer> {
    const { row } = draft;
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
      const before = await sameIn(tx, draft, thread);
      if (before) return answer({ kind: "superseded", row: before });
      // An open turn may have been finished meanwhile.
      const placed = { ...row, branchId: anchor.branchId, depth: anchor.depth };
      await tx.compaction.create({ data: placed });
      const { id: compactionId } = row;
      const { threadTokens, threadContextTokens, threadMessages } = draft.before;
      await tx.sessionCompaction.create({
        data: {
          tenantId,
          sessionId,
          compactionId,
          beforeTokens: threadTokens,
          beforeContextTokens: threadContextTokens,
          beforeMessages: threadMessages,
          floorModel: draft.floorModel ?? null,
        },
      });
      if (told) await tx.session.updateMany({ where: { tenantId, id: sessionId }, data: told(session) });
      return answer({ kind: "written", row: placed });
    });
  }

  /** Puts a prepared compaction in force; the first time counts. Undefined where it is gone. */
  async apply(tenantId: string, id: string, appliedUs: bigint): Promise<CompactionRow | undefined> {
    return this.reading(() =>
      this.database.transaction(async (tx) => {
        const where = { tenantId, id };
        await tx.compaction.updateMany({ where: { ...where, appliedUs: null }, data: { appliedUs } });
        return (await tx.compaction.findUnique({ where: { tenantId_id: where } })) ?? undefined;
      }),
    );
  }

  /** One transaction at a time for the compactions of a session; erasures wait for it. Writers of turns do not. */
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
        await tx.$executeRawUnsafe(lockCompactions, `${row.tenantId}/${row.sessionId}`);
        // An open turn that is finished now would not see this compaction, and not give it its place.
        if (row.branchId === null) await tx.$executeRawUnsafe(lockAnchor, row.tenantId, row.anchorTurnId);
      },
    );
  }

  private async one(text: string, args: readonly SqlValue[]): Promise<CompactionRow | undefined> {
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

/** What two compactions for the same have in common. */
type SamePlace = Pick<CompactionRow, "firstKeptTurnId" | "firstKeptMessageIndex" | "goal">;

function isSame(held: HeldCompaction | CompactionRow, row: SamePlace): boolean {
  return (
    held.firstKeptTurnId === row.firstKeptTurnId &&
    held.firstKeptMessageIndex === row.firstKeptMessageIndex &&
    held.goal === row.goal
  );
}

/** The same as `same`, inside a transaction. */
async function sameIn(
  tx: PrismaTransaction,
  { row, before }: CompactionDraft,
  thread: CompactedThread,
): Promise<CompactionRow | undefined> {
  const { tenantId, sessionId } = row;
  const held = await tx.sessionCompaction.findMany({
    where: { tenantId, sessionId, beforeTokens: before.threadTokens },
    select: { compactionId: true },
  });
  const rows = await tx.compaction.findMany({
    where: { tenantId, id: { in: held.map(({ compactionId }) => compactionId) } },
    orderBy: { id: "desc" },
  });
  return rows.find((found) => isSame(found, row) && hangsOff(thread, found));
}

async function first<T>(
  found: AsyncGenerator<T>,
  isTaken: (value: T) => boolean = () => true,
): Promise<T | undefined> {
  for await (const value of found) if (isTaken(value)) return value;
  return undefined;
}
