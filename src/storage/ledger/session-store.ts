import { QuireError } from "../../errors/quire-error.js";
import type { Database, PrismaTransaction } from "../database.js";
import { deleteInSlices } from "../delete-in-slices.js";
import { inSlices } from "../in-slices.js";
import { asBigInt, type Dialect, nowUsSql, type Sql } from "../sql.js";
import { asStorageError } from "../storage-error.js";
import { findAnswer, idempotentSqlWrite, idempotentWrite, type WriteKey } from "../stored-answers.js";
import { type Erasure, eraseSession, findSubAgents } from "./erase-session.js";
import { aliasesOf, findSessionRow, sessionLookups } from "./find-session.js";
import { listSessionRows, type SessionFilter, type StoredSession, storedSession } from "./list-sessions.js";
import {
  type BranchRow,
  type HeadMoveRow,
  leaseShape,
  type SessionLease,
  type SessionRow,
  sessionShape,
  type TurnRow,
} from "./rows.js";
import { writeMetadata } from "./session-metadata.js";
import type { ThreadPosition } from "./thread-store.js";
import { erasureLock } from "./write-turns.js";

const shareErasureLock = erasureLock("pg_advisory_xact_lock_shared", "$1");
const takeErasureLock = erasureLock("pg_advisory_xact_lock", "?");

const plainLookups = sessionLookups(
  `SELECT ${sessionShape.columnsOf("s")} FROM sessions s WHERE s.tenant_id = ? AND`,
);
const namedLookups: Readonly<Record<Dialect, readonly string[]>> = {
  sqlite: sessionLookups(selectNamed("sqlite")),
  postgresql: sessionLookups(selectNamed("postgresql")),
};
const lockSessionSql = "SELECT 1 FROM sessions WHERE tenant_id = $1 AND id = $2 FOR UPDATE";
const lockNameSql = "SELECT pg_advisory_xact_lock(hashtextextended('quire-name/' || CAST($1 AS TEXT), 0))";

const copyHeldSql = `INSERT INTO session_compactions (tenant_id, session_id, compaction_id, before_tokens, before_context_tokens, before_messages, floor_model)
SELECT h.tenant_id, CAST(? AS TEXT), h.compaction_id, h.before_tokens, h.before_context_tokens, h.before_messages, h.floor_model
FROM session_compactions h JOIN compactions c ON c.tenant_id = h.tenant_id AND c.id = h.compaction_id
WHERE h.tenant_id = ? AND h.session_id = ? AND c.branch_id = ? AND c.depth <= ?`;

/** Sessions as they are stored. */
export class SessionStore {
  constructor(private readonly database: Database) {}

  /** By label, then by id, then by alias. */
  async find(tenantId: string, name: string): Promise<StoredSession | undefined> {
    const { select, dialect } = this.database;
    const found = await this.reading(async () =>
      findSessionRow(select, namedLookups[dialect], tenantId, name),
    );
    return found && storedSession(found);
  }

  async list(tenantId: string, filter: SessionFilter): Promise<StoredSession[]> {
    return this.reading(() =>
      inSlices(filter.limit, (limit, last: StoredSession | undefined) => {
        const beforeId = last?.row.id ?? filter.beforeId;
        return listSessionRows(this.database.sqlReader, tenantId, { ...filter, limit, beforeId });
      }),
    );
  }

  async headMoves(
    tenantId: string,
    sessionId: string,
    afterSequence: number,
    limit: number,
  ): Promise<HeadMoveRow[]> {
    return this.reading((client) =>
      client.headMove.findMany({
        where: { tenantId, sessionId, sequence: { gt: afterSequence } },
        orderBy: { sequence: "asc" },
        take: limit,
      }),
    );
  }

  /** One idempotent write to sessions. */
  async write<Answer>(
    key: WriteKey<Answer>,
    createdUs: bigint,
    work: (
      session: SessionTransaction,
    ) => Promise<{ readonly answer: Answer; readonly sessionId: string | null }>,
    lockedSessionId?: string,
  ): Promise<Answer> {
    const sessionIn = (tx: PrismaTransaction) =>
      new SessionTransaction(tx, key.tenantId, this.database.dialect);
    try {
      return await idempotentWrite(
        this.database,
        key,
        createdUs,
        (tx) => work(sessionIn(tx)),
        (tx) => sessionIn(tx).takeLocks(lockedSessionId),
      );
    } catch (error) {
      // Done again, with the session locked before it is read.
      const changed =
        error instanceof QuireError && error.cause instanceof SessionChanged
          ? error.cause.sessionId
          : undefined;
      if (changed === undefined || changed === lockedSessionId) throw error;
      return this.write(key, createdUs, work, changed);
    }
  }

  /** Erases a session, while nobody else writes; and its sub-agents with theirs, if they may be some. */
  async erase<Answer>(
    key: WriteKey<Answer>,
    createdUs: bigint,
    name: string,
    erasing: {
      readonly maxSubAgents: number;
      tooMany(label: string): Error;
      answer(sessionId: string, erasure: Erasure & { readonly erasedSubAgentIds: readonly string[] }): Answer;
    },
  ): Promise<Answer> {
    const { tenantId } = key;
    const lock = async (sql: Sql) => {
      if (sql.dialect === "postgresql") await sql.execute(takeErasureLock, [tenantId]);
    };
    return idempotentSqlWrite(this.database, key, createdUs, lock, async (sql) => {
      const found = await findSessionRow((text, args) => sql.query(text, args), plainLookups, tenantId, name);
      if (!found) throw sessionNotFound(name);
      const session = sessionShape.read(found)!;
      const { maxSubAgents } = erasing;
      const subAgents = maxSubAgents > 0 ? await findSubAgents(sql, session, maxSubAgents) : [];
      if (subAgents.length > maxSubAgents) throw erasing.tooMany(session.label);
      let erasedTurns = 0;
      for (const subAgent of subAgents.toReversed())
        erasedTurns += (await eraseSession(sql, subAgent)).erasedTurns;
      const own = await eraseSession(sql, session);
      return erasing.answer(session.id, {
        erasedTurns: own.erasedTurns + erasedTurns,
        keptTurns: own.keptTurns,
        erasedSubAgentIds: subAgents.map(({ id }) => id),
      });
    });
  }

  /** Makes a turn's lease of a session last anew, for as long as before where no time is given; undefined where the turn has none. */
  async renewLease(
    tenantId: string,
    sessionId: string,
    turnId: string,
    seconds: number,
  ): Promise<SessionLease | undefined> {
    return this.reading(() =>
      this.database.sqlTransaction(async (sql) => {
        const time = seconds > 0 ? String(seconds) : "lease_seconds";
        const now = nowUsSql[sql.dialect];
        await sql.execute(
          `UPDATE sessions SET lease_seconds = ${time}, lease_expires_us = ${now} + CAST(${time} AS BIGINT) * 1000000 WHERE tenant_id = ? AND id = ? AND lease_turn_id = ?`,
          [tenantId, sessionId, turnId],
        );
        const [row] = await sql.query(
          `SELECT ${leaseShape.columnList} FROM sessions WHERE tenant_id = ? AND id = ? AND lease_turn_id = ?`,
          [tenantId, sessionId, turnId],
        );
        return row && leaseShape.read(row);
      }),
    );
  }

  /** Whether this very request, or another under its id, was answered before. */
  async isAnswered(key: Pick<WriteKey<never>, "tenantId" | "method" | "requestId">): Promise<boolean> {
    return (await this.reading((client) => findAnswer(client, key))) !== undefined;
  }

  /** Removes stored answers that are older. */
  async forgetAnswers(olderThanUs: bigint, stop?: AbortSignal): Promise<number> {
    const key = ["tenant_id", "method", "request_id"];
    const old = { table: "stored_answers", key, column: "created_us", olderThanUs };
    return deleteInSlices(this.database, old, stop);
  }

  private async reading<T>(work: (client: PrismaTransaction) => Promise<T>): Promise<T> {
    try {
      return await work(this.database.reader);
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

/** Another writer changed a session between its read and its update. */
class SessionChanged extends Error {
  constructor(readonly sessionId: string) {
    super("a session changed under the write that had read it");
  }
}

/** What a write may do to sessions, inside its transaction. */
export class SessionTransaction {
  private readonly lockedNames = new Set<string>();

  constructor(
    readonly tx: PrismaTransaction,
    private readonly tenantId: string,
    private readonly dialect: Dialect,
  ) {}

  /** The locks that come before every read. SQLite has one writer, and needs none. */
  async takeLocks(sessionId: string | undefined): Promise<void> {
    if (this.dialect === "sqlite") return;
    await this.tx.$executeRawUnsafe(shareErasureLock, this.tenantId);
    if (sessionId !== undefined) await this.lockSession(sessionId);
  }

  /** The time by the database's clock. */
  async nowUs(): Promise<bigint> {
    const [row] = await this.tx.$queryRawUnsafe<{ now: unknown }[]>(
      `SELECT ${nowUsSql[this.dialect]} AS now`,
    );
    return asBigInt(row!.now);
  }

  async find(name: string): Promise<StoredSession> {
    return this.withAliases(await this.findRow(name));
  }

  async findRow(name: string): Promise<SessionRow> {
    const row = await findRow(this.tx, this.tenantId, name);
    if (!row) throw sessionNotFound(name);
    return row;
  }

  async findById(id: string): Promise<SessionRow | undefined> {
    return (await this.tx.session.findFirst({ where: { tenantId: this.tenantId, id } })) ?? undefined;
  }

  /** The session that has a name as its label or alias. Nobody else gives or takes the name until the transaction ends. */
  async findNamed(name: string): Promise<StoredSession | undefined> {
    await this.lockName(name);
    const row = await findRow(this.tx, this.tenantId, name);
    return row ? this.withAliases(row) : undefined;
  }

  async withAliases(row: SessionRow): Promise<StoredSession> {
    return { row, aliases: await readAliases(this.tx, this.dialect, row) };
  }

  async insert(row: SessionRow): Promise<StoredSession> {
    await this.requireFreeName(row.label);
    await this.tx.session.create({ data: row });
    await writeMetadata(this.tx, row);
    return { row, aliases: [] };
  }

  /** Conditional on the session that was read: what changed meanwhile is never overwritten. */
  async update(before: StoredSession, changes: Partial<SessionRow>): Promise<StoredSession> {
    const { label = before.row.label } = changes;
    if (label !== before.row.label) await this.requireFreeName(label, before);
    const { count } = await this.tx.session.updateMany({ where: before.row, data: changes });
    if (count !== 1) throw new SessionChanged(before.row.id);
    const row = { ...before.row, ...changes };
    await writeMetadata(this.tx, row, before.row);
    return { row, aliases: before.aliases };
  }

  async logHeadMove(move: HeadMoveRow): Promise<void> {
    // Writers of turns lock the session before they log, so that two who log at once do not wait for each other.
    await this.lockSession(move.sessionId);
    await this.tx.headMove.create({ data: move });
  }

  /** Counts a fork of the session, unless it has so many; true, too, for a session that is gone. */
  async addFork(sessionId: string, max: number): Promise<boolean> {
    const where = { tenantId: this.tenantId, id: sessionId };
    const { count } = await this.tx.session.updateMany({
      where: { ...where, forkCount: { lt: max } },
      data: { forkCount: { increment: 1 } },
    });
    return count === 1 || (await this.tx.session.count({ where })) === 0;
  }

  /** Gives a fork the compactions of its origin that hang off the turn it starts at, or off an ancestor. */
  async copyCompactions(fromSessionId: string, toSessionId: string, at: ThreadPosition): Promise<void> {
    const { tenantId } = this;
    let branchId: string | null = at.branchId;
    let depth = at.depth;
    const sql = this.dialect === "sqlite" ? copyHeldSql : numbered(copyHeldSql);
    while (branchId !== null) {
      await this.tx.$executeRawUnsafe(sql, toSessionId, tenantId, fromSessionId, branchId, depth);
      const branch: BranchRow | null = await this.tx.branch.findUnique({
        where: { tenantId_id: { tenantId, id: branchId } },
      });
      branchId = branch?.parentBranchId ?? null;
      depth = Math.min(depth, branch?.forkDepth ?? 0);
    }
  }

  async findTurn(turnId: string): Promise<TurnRow | undefined> {
    const row = await this.tx.turn.findUnique({
      where: { tenantId_id: { tenantId: this.tenantId, id: turnId } },
    });
    return row ?? undefined;
  }

  /** The id of the session that has an alias. */
  async ownerOf(alias: string): Promise<string | undefined> {
    await this.lockName(alias);
    const where = { tenantId_alias: { tenantId: this.tenantId, alias } };
    return (await this.tx.sessionAlias.findUnique({ where }))?.sessionId;
  }

  async isLabel(name: string): Promise<boolean> {
    await this.lockName(name);
    return (await this.tx.session.count({ where: { tenantId: this.tenantId, label: name } })) > 0;
  }

  /** Whether the session has so many aliases, or more. It gets no others until the transaction ends. */
  async hasAliases(sessionId: string, count: number): Promise<boolean> {
    await this.lockSession(sessionId);
    const where = { tenantId: this.tenantId, sessionId };
    return (
      (await this.tx.sessionAlias.findFirst({ where, orderBy: { alias: "asc" }, skip: count - 1 })) !== null
    );
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

  private async lockSession(sessionId: string): Promise<void> {
    if (this.dialect === "sqlite") return;
    await this.tx.$executeRawUnsafe(lockSessionSql, this.tenantId, sessionId);
  }

  /** Labels and aliases share their names, but no index guards both: who gives or takes a name holds it to the end. */
  private async lockName(name: string): Promise<void> {
    if (this.dialect === "sqlite" || this.lockedNames.has(name)) return;
    this.lockedNames.add(name);
    await this.tx.$executeRawUnsafe(lockNameSql, `${this.tenantId}/${name}`);
  }

  private async requireFreeName(label: string, owner?: StoredSession): Promise<void> {
    const holder = await this.ownerOf(label);
    const isAliasOfOther = holder !== undefined && holder !== owner?.row.id;
    if (isAliasOfOther || (await this.isLabel(label))) {
      throw new QuireError("LABEL_TAKEN", `another session is called ${label}`, {
        metadata: { label },
        violations: [{ field: "label", description: "is taken" }],
      });
    }
  }
}

/** PostgreSQL numbers its places. */
function numbered(text: string): string {
  let place = 0;
  return text.replaceAll("?", () => `$${++place}`);
}

async function findRow(
  client: PrismaTransaction,
  tenantId: string,
  name: string,
): Promise<SessionRow | null> {
  return (
    (await client.session.findFirst({ where: { tenantId, label: name } })) ??
    (await client.session.findFirst({ where: { tenantId, id: name } })) ??
    findByAlias(client, tenantId, name)
  );
}

function selectNamed(dialect: Dialect): string {
  return `SELECT ${sessionShape.columnsOf("s")}, ${aliasesOf[dialect]} FROM sessions s WHERE s.tenant_id = ? AND`;
}

async function readAliases(
  client: PrismaTransaction,
  dialect: Dialect,
  { tenantId, id }: SessionRow,
): Promise<string[]> {
  const [tenant, session] = dialect === "sqlite" ? ["?", "?"] : ["$1", "$2"];
  const [row] = await client.$queryRawUnsafe<{ aliases: string | null }[]>(
    `SELECT ${aliasesOf[dialect]} AS aliases FROM sessions s WHERE s.tenant_id = ${tenant} AND s.id = ${session}`,
    tenantId,
    id,
  );
  return JSON.parse(row?.aliases ?? "[]") as string[];
}

async function findByAlias(
  client: PrismaTransaction,
  tenantId: string,
  alias: string,
): Promise<SessionRow | null> {
  const found = await client.sessionAlias.findFirst({ where: { tenantId, alias } });
  return found && client.session.findFirst({ where: { tenantId, id: found.sessionId } });
}

export function sessionNotFound(session: string): QuireError {
  return new QuireError("SESSION_NOT_FOUND", `there is no session ${JSON.stringify(session)}`, {
    metadata: { session },
  });
}
