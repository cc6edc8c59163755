import type { Soon } from "../../domain/soon.js";
import type { Database } from "../database.js";
import type { RememberedRead } from "../remembered-reads.js";
import { asBuffer, type SqlRow, type SqlValue } from "../sql.js";
import { asStorageError } from "../storage-error.js";
import { idempotentWrite, type WriteKey } from "../stored-answers.js";
import { CapsuleTransaction } from "./capsule-transaction.js";
import { type CapsuleSummary, type StoredCapsule, summaryShape } from "./rows.js";

export interface CapsuleHead {
  readonly id: string;
  readonly latestVersion: number;
}

/** Capsules as they are stored. */
export class CapsuleStore {
  private readonly heads: RememberedRead<CapsuleHead | undefined>;

  constructor(private readonly database: Database) {
    this.heads = database.remember({
      tables: ["capsules"],
      text: selectHead,
      read: ([row]) => row && { id: row[0] as string, latestVersion: Number(row[1]) },
    });
  }

  /** Which capsule has a name now, and its latest version. */
  findHead(tenantId: string, name: string): Soon<CapsuleHead | undefined> {
    return this.heads(tenantId, name);
  }

  async findVersion(tenantId: string, id: string, version: number): Promise<StoredCapsule | undefined> {
    const [row] = await this.query(selectVersion, [tenantId, id, version]);
    return row && { ...readSummary(row), body: asBuffer(row[summaryShape.columns.length]) };
  }

  /** A body by its SHA-256, whichever capsules and versions have it. */
  async findBody(tenantId: string, hash: Buffer): Promise<Buffer | undefined> {
    const [row] = await this.query(selectBody, [tenantId, hash]);
    return row && asBuffer(row[0]);
  }

  /** The latest version of each capsule, by name. */
  async listLatest(tenantId: string, afterName: string, limit: number): Promise<CapsuleSummary[]> {
    return (await this.query(selectLatest, [tenantId, afterName, limit])).map(readSummary);
  }

  /** The versions of a capsule, the newest first. */
  async listVersions(
    tenantId: string,
    id: string,
    beforeVersion: number,
    limit: number,
  ): Promise<CapsuleSummary[]> {
    return (await this.query(selectVersions, [tenantId, id, beforeVersion, limit])).map(readSummary);
  }

  /** Summaries with their bodies, in the same order; without those that were deleted meanwhile. */
  async withBodies(tenantId: string, summaries: readonly CapsuleSummary[]): Promise<StoredCapsule[]> {
    if (summaries.length === 0) return [];
    const rows = await this.query(selectBodies(summaries.length), [
      ...summaries.flatMap(({ id, version }) => [id, version]),
      tenantId,
    ]);
    const bodies = new Map(rows.map(([id, version, body]) => [`${id}/${version}`, asBuffer(body)]));
    return summaries.flatMap((summary) => {
      const body = bodies.get(`${summary.id}/${summary.version}`);
      return body ? [{ ...summary, body }] : [];
    });
  }

  /** One idempotent write to a capsule, which takes the stored answers about it with it when it is deleted. */
  write<Answer>(
    key: WriteKey<Answer>,
    createdUs: bigint,
    work: (
      capsules: CapsuleTransaction,
    ) => Promise<{ readonly answer: Answer; readonly capsuleId: string | null }>,
  ): Promise<Answer> {
    return idempotentWrite(this.database, key, createdUs, async (tx) => {
      const { answer, capsuleId } = await work(new CapsuleTransaction(tx, key.tenantId));
      return { answer, sessionId: capsuleId };
    });
  }

  private async query(text: string, args: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    try {
      return await this.database.sqlReader.query(text, args);
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

function readSummary(row: SqlRow): CapsuleSummary {
  return summaryShape.read(row)!;
}

const joined = "FROM capsules c JOIN capsule_versions v ON v.tenant_id = c.tenant_id AND v.capsule_id = c.id";
const selectHead = "SELECT id, latest_version FROM capsules WHERE tenant_id = ? AND name = ?";
const selectVersion = `SELECT ${summaryShape.columnList}, v.body ${joined} WHERE c.tenant_id = ? AND c.id = ? AND v.version = ?`;
const selectBody = "SELECT body FROM capsule_versions WHERE tenant_id = ? AND hash = ? LIMIT 1";
const selectLatest = `SELECT ${summaryShape.columnList} ${joined} AND v.version = c.latest_version WHERE c.tenant_id = ? AND c.name > ? ORDER BY c.name LIMIT ?`;
const selectVersions = `SELECT ${summaryShape.columnList} ${joined} WHERE c.tenant_id = ? AND c.id = ? AND v.version < ? ORDER BY v.version DESC LIMIT ?`;

function selectBodies(count: number): string {
  const keys = Array(count).fill("(CAST(? AS TEXT), CAST(? AS INTEGER))").join(",");
  return `WITH k(id, version) AS (VALUES ${keys}) SELECT v.capsule_id, v.version, v.body FROM k JOIN capsule_versions v ON v.tenant_id = ? AND v.capsule_id = k.id AND v.version = k.version`;
}
