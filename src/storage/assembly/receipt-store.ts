import type { Database } from "../database.js";
import { TableShape } from "../ledger/rows.js";
import { erasureLock } from "../ledger/write-turns.js";
import { list, type Sql, type SqlValue } from "../sql.js";
import { asStorageError } from "../storage-error.js";

/** A receipt as it is stored, with the layers that it names. */
export interface StoredReceipt {
  readonly tenantId: string;
  readonly id: string;
  readonly sessionId: string;
  /** The Receipt in wire form. */
  readonly wire: Buffer;
  /** The AssembledContext in wire form, without history, system prompt and tools. */
  readonly contextWire: Buffer;
  readonly systemHash: Buffer;
  readonly toolsHash: Buffer;
  readonly createdUs: bigint;
}

interface Blob {
  readonly tenantId: string;
  readonly hash: Buffer;
  readonly bytes: Buffer;
}

const receiptShape = new TableShape<StoredReceipt>("receipts", [
  ["tenantId", "tenant_id", "text"],
  ["id", "id", "text"],
  ["sessionId", "session_id", "text"],
  ["wire", "wire", "bytes"],
  ["contextWire", "context_wire", "bytes"],
  ["systemHash", "system_hash", "bytes"],
  ["toolsHash", "tools_hash", "bytes"],
  ["createdUs", "created_us", "bigint"],
]);

const blobShape = new TableShape<Blob & { readonly lastUsedUs: bigint }>("receipt_blobs", [
  ["tenantId", "tenant_id", "text"],
  ["hash", "hash", "bytes"],
  ["bytes", "bytes", "bytes"],
  ["lastUsedUs", "last_used_us", "bigint"],
]);
const onKnownBlob = " ON CONFLICT (tenant_id, hash) DO UPDATE SET last_used_us = excluded.last_used_us";

type Bytes = Uint8Array<ArrayBuffer>;

const flushAfterMs = 100;
const flushAt = 256;
/** A batch that could not be written is tried again, as long as no more than so many wait. */
const retryAfterMs = 1_000;
const maxWaiting = 10_000;

/**
 * Receipts are written behind, in batches: an assembly does not wait for the disk. They can be read at once, from what still
 * waits. A crash loses the last tenth of a second of them, never a turn.
 */
export class ReceiptStore {
  private waiting = new Map<string, StoredReceipt>();
  private blobs = new Map<string, Blob>();
  /** Blobs that are known to be stored, so that a system prompt is written once and not with every receipt. */
  private readonly stored = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly onError: (error: unknown) => void,
  ) {}

  add(receipt: StoredReceipt, layers: readonly Buffer[]): void {
    this.waiting.set(`${receipt.tenantId}/${receipt.id}`, receipt);
    for (const [index, hash] of [receipt.systemHash, receipt.toolsHash].entries()) {
      const key = blobKey(receipt.tenantId, hash);
      if (!this.stored.has(key))
        this.blobs.set(key, { tenantId: receipt.tenantId, hash, bytes: layers[index]! });
    }
    if (this.waiting.size >= flushAt) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), flushAfterMs);
  }

  /** Forgets what waits for a session that was deleted. */
  dropSession(tenantId: string, sessionId: string): void {
    for (const [key, receipt] of this.waiting) {
      if (receipt.tenantId === tenantId && receipt.sessionId === sessionId) this.waiting.delete(key);
    }
  }

  async find(tenantId: string, id: string): Promise<StoredReceipt | undefined> {
    const waiting = this.waiting.get(`${tenantId}/${id}`);
    if (waiting) return waiting;
    const row = await this.reading(() =>
      this.database.reader.receipt.findUnique({ where: { tenantId_id: { tenantId, id } } }),
    );
    if (!row) return undefined;
    const { wire, contextWire, systemHash, toolsHash } = row;
    return {
      ...row,
      wire: Buffer.from(wire),
      contextWire: Buffer.from(contextWire),
      systemHash: Buffer.from(systemHash),
      toolsHash: Buffer.from(toolsHash),
    };
  }

  async findBlob(tenantId: string, hash: Buffer): Promise<Buffer | undefined> {
    const waiting = this.blobs.get(blobKey(tenantId, hash));
    if (waiting) return waiting.bytes;
    const where = { tenantId_hash: { tenantId, hash: hash as unknown as Bytes } };
    const row = await this.reading(() => this.database.reader.receiptBlob.findUnique({ where }));
    return row ? Buffer.from(row.bytes) : undefined;
  }

  /** Writes what waits. Resolves when all that was added before is stored. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.flushing = this.flushing.then(() => this.writeBatch());
    return this.flushing;
  }

  /** Removes receipts that are older, and the layers that no receipt names any more. */
  async forget(olderThanUs: bigint): Promise<number> {
    // What still waits is counted among those that name a layer; what comes later brings its layers along again.
    await this.flush();
    this.stored.clear();
    return this.database.transaction(async (tx) => {
      const { count } = await tx.receipt.deleteMany({ where: { createdUs: { lt: olderThanUs } } });
      if (count > 0) {
        await tx.$executeRawUnsafe(
          "DELETE FROM receipt_blobs WHERE NOT EXISTS (SELECT 1 FROM receipts r WHERE r.tenant_id = receipt_blobs.tenant_id AND (r.system_hash = receipt_blobs.hash OR r.tools_hash = receipt_blobs.hash))",
        );
      }
      return count;
    });
  }

  private async writeBatch(): Promise<void> {
    const receipts = [...this.waiting.entries()];
    const blobs = [...this.blobs.entries()];
    if (receipts.length === 0) return;
    try {
      await this.database.sqlTransaction(async (sql) => {
        const lastUsedUs = receipts.at(-1)![1].createdUs;
        // In one order for all servers, so that two of them cannot wait for each other.
        const sorted = blobs
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([, blob]) => ({ ...blob, lastUsedUs }));
        await insert(sql, blobShape, sorted, onKnownBlob);
        const written = receipts.map(([, receipt]) => receipt);
        await insert(sql, receiptShape, await ofLivingSessions(sql, written), "");
      });
      for (const [key] of blobs) this.stored.add(key);
      if (this.stored.size > 10_000) this.stored.clear();
    } catch (error) {
      this.onError(error);
      if (this.waiting.size < maxWaiting) {
        this.timer ??= setTimeout(() => this.flush(), retryAfterMs);
        return;
      }
    }
    for (const [key, receipt] of receipts) if (this.waiting.get(key) === receipt) this.waiting.delete(key);
    for (const [key, blob] of blobs) if (this.blobs.get(key) === blob) this.blobs.delete(key);
  }

  private async reading<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

function blobKey(tenantId: string, hash: Buffer): string {
  return `${tenantId}/${hash.toString("base64")}`;
}

/** Leaves out the receipts of sessions that were deleted since: what they hold is erased, too, and must stay so. */
async function ofLivingSessions(sql: Sql, receipts: readonly StoredReceipt[]): Promise<StoredReceipt[]> {
  const living: StoredReceipt[] = [];
  for (const tenantId of [...new Set(receipts.map((receipt) => receipt.tenantId))].sort()) {
    if (sql.dialect === "postgresql")
      await sql.execute(erasureLock("pg_advisory_xact_lock_shared", "?"), [tenantId]);
    const own = receipts.filter((receipt) => receipt.tenantId === tenantId);
    const ids = [...new Set(own.map((receipt) => receipt.sessionId))];
    const found = new Set<unknown>();
    for (let at = 0; at < ids.length; at += rowsPerInsert) {
      const some = ids.slice(at, at + rowsPerInsert);
      const rows = await sql.query(
        `SELECT id FROM sessions WHERE tenant_id = ? AND id IN (${list(some.length)})`,
        [tenantId, ...some],
      );
      for (const [id] of rows) found.add(id);
    }
    living.push(...own.filter((receipt) => found.has(receipt.sessionId)));
  }
  return living;
}

/** So many rows go into one statement; always as many, so that it is prepared once. */
const rowsPerInsert = 32;

async function insert<Row>(
  sql: Sql,
  shape: TableShape<Row>,
  rows: readonly Row[],
  onConflict: string,
): Promise<void> {
  for (let at = 0; at < rows.length; at += rowsPerInsert) {
    const some = rows.slice(at, at + rowsPerInsert);
    const args: SqlValue[] = [];
    for (const row of some) shape.args(row, args);
    await sql.execute(shape.insertSql(some.length) + onConflict, args);
  }
}
