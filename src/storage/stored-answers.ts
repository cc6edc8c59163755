import { QuireError } from "../errors/quire-error.js";
import type { Database, PrismaTransaction } from "./database.js";
import { type StoredAnswerRow, storedAnswerShape } from "./ledger/rows.js";
import type { Sql, SqlValue } from "./sql.js";
import { asStorageError, isRaceLost, raceRetries } from "./storage-error.js";

/** What makes a write idempotent, and how its answer is kept. */
export interface WriteKey<Answer> {
  readonly tenantId: string;
  readonly method: string;
  /** Empty: no protection. */
  readonly requestId: string;
  readonly requestHash: Buffer;
  encode(answer: Answer): Buffer;
  decode(bytes: Buffer): Answer;
}

/** The stored answer, for the same request; an error, for another request under the same id. */
export function replayAnswer<Answer>(key: WriteKey<Answer>, stored: StoredAnswerRow): Answer {
  if (!key.requestHash.equals(stored.requestHash)) {
    throw new QuireError(
      "REQUEST_ID_REUSED",
      `the request id ${key.requestId} came before with another body`,
      {
        metadata: { request_id: key.requestId, method: key.method },
        violations: [{ field: "request_id", description: "was used before for another request" }],
      },
    );
  }
  return key.decode(Buffer.from(stored.answer));
}

export function storedAnswerRow<Answer>(
  key: WriteKey<Answer>,
  answer: Answer,
  sessionId: string | null,
  createdUs: bigint,
): StoredAnswerRow {
  return {
    tenantId: key.tenantId,
    method: key.method,
    requestId: key.requestId,
    requestHash: key.requestHash as unknown as StoredAnswerRow["requestHash"],
    answer: key.encode(answer) as unknown as StoredAnswerRow["answer"],
    sessionId,
    createdUs,
  };
}

/**
 * One write through the Prisma client: replays the stored answer where there is one, else does the work and stores
 * its answer, all in one transaction. `prepare` takes the locks that come before every read. The session, if the answer
 * is about one, takes the stored answer with it when it is erased.
 */
export async function idempotentWrite<Answer>(
  database: Database,
  key: WriteKey<Answer>,
  createdUs: bigint,
  work: (tx: PrismaTransaction) => Promise<{ readonly answer: Answer; readonly sessionId: string | null }>,
  prepare: (tx: PrismaTransaction) => Promise<void> = async () => {},
): Promise<Answer> {
  try {
    return await database.transaction(async (tx) => {
      await prepare(tx);
      const stored = await findAnswer(tx, key);
      if (stored) return replayAnswer(key, stored);
      const { answer, sessionId } = await work(tx);
      if (key.requestId !== "") {
        await tx.storedAnswer.create({ data: storedAnswerRow(key, answer, sessionId, createdUs) });
      }
      return answer;
    });
  } catch (error) {
    // Another server may have done this very request meanwhile, and may be the reason for the refusal. Of a lost file no answer counts.
    const mayBeDone = error instanceof QuireError && !database.lost.aborted;
    const stored = mayBeDone ? await findAnswer(database.reader, key).catch(() => undefined) : undefined;
    if (!stored) throw error;
    return replayAnswer(key, stored);
  }
}

/**
 * The same in hand-written SQL, for work about no session that is left. `prepare` keeps out all other writes, so that nobody does the
 * same request meanwhile.
 */
export async function idempotentSqlWrite<Answer>(
  database: Database,
  key: WriteKey<Answer>,
  createdUs: bigint,
  prepare: (sql: Sql) => Promise<void>,
  work: (sql: Sql) => Promise<Answer>,
): Promise<Answer> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await database.sqlTransaction(async (sql) => {
        await prepare(sql);
        const stored = await storedAnswer(sql, key);
        if (stored) return replayAnswer(key, stored);
        const answer = await work(sql);
        if (key.requestId === "") return answer;
        const args: SqlValue[] = [];
        storedAnswerShape.args(storedAnswerRow(key, answer, null, createdUs), args);
        await sql.execute(storedAnswerShape.insertSql(1, sql.dialect), args);
        return answer;
      });
    } catch (error) {
      if (!isRaceLost(error) || attempt >= raceRetries) throw asStorageError(error);
    }
  }
}

async function storedAnswer(
  sql: Sql,
  key: Pick<WriteKey<never>, "tenantId" | "method" | "requestId">,
): Promise<StoredAnswerRow | undefined> {
  if (key.requestId === "") return undefined;
  const [row] = await sql.query(
    `SELECT ${storedAnswerShape.columnList} FROM stored_answers WHERE tenant_id = ? AND method = ? AND request_id = ?`,
    [key.tenantId, key.method, key.requestId],
  );
  return row && storedAnswerShape.read(row);
}

/** The stored answer to a request of this method and id, whatever its body was. */
export async function findAnswer(
  client: PrismaTransaction,
  key: Pick<WriteKey<never>, "tenantId" | "method" | "requestId">,
): Promise<StoredAnswerRow | undefined> {
  const { tenantId, method, requestId } = key;
  if (requestId === "") return undefined;
  return (await client.storedAnswer.findFirst({ where: { tenantId, method, requestId } })) ?? undefined;
}
