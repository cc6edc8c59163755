import { QuireError } from "../../errors/quire-error.js";
import type { Database, PrismaTransaction } from "../database.js";
import { asStorageError } from "../storage-error.js";
import type { HeadMoveRow, SessionRow, TurnRow } from "./rows.js";
import { replayAnswer, storedAnswerRow, type WriteKey } from "./stored-answers.js";
import { erasureLock } from "./write-turns.js";

const erasureLocks = {
  shared: erasureLock("pg_advisory_xact_lock_shared", "$1"),
  exclusive: erasureLock("pg_advisory_xact_lock", "$1"),
};

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

/** Sessions as they are stored. */
export class SessionStore {
  constructor(private readonly database: Database) {}

  /** By label, then by id, then by alias. */
  async find(tenantId: string, name: string): Promise<StoredSession | undefined> {
    return this.reading((client) => findSession(client, tenantId, name));
  }

  async list(tenantId: string, filter: SessionFilter): Promise<StoredSession[]> {
    return this.reading(async (client) => {
      const rows = await client.session.findMany({
        where: {
          tenantId,
          ...(filter.beforeId ? { id: { lt: filter.beforeId } } : {}),
          // A range and not LIKE: it uses the index, and means the same bytes on both databases.
          ...(filter.labelPrefix ? { label: { gte: filter.labelPrefix, lt: `${filter.labelPrefix}\u{10ffff}` } } : {}),
          ...(filter.parentSessionId ? { parentSessionId: filter.parentSessionId } : {}),
          ...(filter.taskStatus ? { taskStatus: filter.taskStatus } : {}),
        },
        orderBy: { id: "desc" },
        take: filter.limit,
      });
      const aliases = await client.sessionAlias.findMany({
        where: { tenantId, sessionId: { in: rows.map((row) => row.id) } },
        orderBy: { alias: "asc" },
      });
      return rows.map((row) => ({
        row,
        aliases: aliases.filter((alias) => alias.sessionId === row.id).map((alias) => alias.alias),
      }));
    });
  }

  async headMoves(tenantId: string, sessionId: string, afterSequence: number, limit: number): Promise<HeadMoveRow[]> {
    return this.reading((client) =>
      client.headMove.findMany({
        where: { tenantId, sessionId, sequence: { gt: afterSequence } },
        orderBy: { sequence: "asc" },
        take: limit,
      }),
    );
  }

  /**
   * One write: replays the stored answer where there is one, else does the work and stores its answer, all in one
   * transaction.
   */
  async write<Answer>(
    key: WriteKey<Answer>,
    createdUs: bigint,
    work: (session: SessionTransaction) => Promise<{ readonly answer: Answer; readonly sessionId: string | null }>,
    lock: "shared" | "exclusive" = "shared",
  ): Promise<Answer> {
    return this.database.transaction(async (tx) => {
      if (this.database.dialect === "postgresql") await tx.$executeRawUnsafe(erasureLocks[lock], key.tenantId);
      if (key.requestId !== "") {
        const stored = await tx.storedAnswer.findUnique({
          where: {
            tenantId_method_requestId: { tenantId: key.tenantId, method: key.method, requestId: key.requestId },
          },
        });
        if (stored) return replayAnswer(key, stored);
      }
      const { answer, sessionId } = await work(new SessionTransaction(tx, key.tenantId));
      if (key.requestId !== "") {
        await tx.storedAnswer.create({ data: storedAnswerRow(key, answer, sessionId, createdUs) });
      }
      return answer;
    });
  }

  /** Removes stored answers that are older. */
  async forgetAnswers(olderThanUs: bigint): Promise<number> {
    const { count } = await this.database.transaction((tx) =>
      tx.storedAnswer.deleteMany({ where: { createdUs: { lt: olderThanUs } } }),
    );
    return count;
  }

  private async reading<T>(work: (client: PrismaTransaction) => Promise<T>): Promise<T> {
    try {
      return await work(this.database.reader);
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

/** What a write may do to sessions, inside its transaction. */
export class SessionTransaction {
  constructor(
    readonly tx: PrismaTransaction,
    private readonly tenantId: string,
  ) {}

  async find(name: string): Promise<StoredSession> {
    const found = await findSession(this.tx, this.tenantId, name);
    if (!found) throw sessionNotFound(name);
    return found;
  }

  async insert(row: SessionRow): Promise<StoredSession> {
    await this.requireFreeName(row.label);
    await this.tx.session.create({ data: row });
    return { row, aliases: [] };
  }

  /** Conditional on the head that was read: a head that moved meanwhile is never overwritten. */
  async update(before: StoredSession, changes: Partial<SessionRow>): Promise<StoredSession> {
    if (changes.label !== undefined && changes.label !== before.row.label) await this.requireFreeName(changes.label, before);
    const { tenantId, id, headSequence } = before.row;
    const { count } = await this.tx.session.updateMany({ where: { tenantId, id, headSequence }, data: changes });
    if (count !== 1) throw new QuireError("HEAD_MOVED", "the session's head moved");
    return { row: { ...before.row, ...changes }, aliases: before.aliases };
  }

  async logHeadMove(move: HeadMoveRow): Promise<void> {
    await this.tx.headMove.create({ data: move });
  }

  async findTurn(turnId: string): Promise<TurnRow | undefined> {
    const row = await this.tx.turn.findUnique({ where: { tenantId_id: { tenantId: this.tenantId, id: turnId } } });
    return row ?? undefined;
  }

  async findAlias(alias: string): Promise<StoredSession | undefined> {
    const row = await this.tx.sessionAlias.findUnique({ where: { tenantId_alias: { tenantId: this.tenantId, alias } } });
    return row ? this.find(row.sessionId) : undefined;
  }

  async isLabel(name: string): Promise<boolean> {
    return (await this.tx.session.count({ where: { tenantId: this.tenantId, label: name } })) > 0;
  }

  async putAlias(alias: string, sessionId: string, createdUs: bigint): Promise<void> {
    await this.tx.sessionAlias.upsert({
      where: { tenantId_alias: { tenantId: this.tenantId, alias } },
      create: { tenantId: this.tenantId, alias, sessionId, createdUs },
      update: { sessionId },
    });
  }

  async removeAlias(alias: string): Promise<void> {
    await this.tx.sessionAlias.delete({ where: { tenantId_alias: { tenantId: this.tenantId, alias } } });
  }

  private async requireFreeName(label: string, owner?: StoredSession): Promise<void> {
    const taken = (await this.isLabel(label)) || (await this.findAlias(label));
    if (taken && !owner?.aliases.includes(label)) {
      throw new QuireError("LABEL_TAKEN", `another session is called ${label}`, {
        metadata: { label },
        violations: [{ field: "label", description: "is taken" }],
      });
    }
  }
}

async function findSession(client: PrismaTransaction, tenantId: string, name: string): Promise<StoredSession | undefined> {
  const row =
    (await client.session.findUnique({ where: { tenantId_label: { tenantId, label: name } } })) ??
    (await client.session.findUnique({ where: { tenantId_id: { tenantId, id: name } } })) ??
    (await findByAlias(client, tenantId, name));
  if (!row) return undefined;
  const aliases = await client.sessionAlias.findMany({
    where: { tenantId, sessionId: row.id },
    orderBy: { alias: "asc" },
  });
  return { row, aliases: aliases.map((alias) => alias.alias) };
}

async function findByAlias(client: PrismaTransaction, tenantId: string, alias: string): Promise<SessionRow | null> {
  const found = await client.sessionAlias.findUnique({ where: { tenantId_alias: { tenantId, alias } } });
  return found && client.session.findUnique({ where: { tenantId_id: { tenantId, id: found.sessionId } } });
}

export function sessionNotFound(session: string): QuireError {
  return new QuireError("SESSION_NOT_FOUND", `there is no session ${JSON.stringify(session)}`, { metadata: { session } });
}
