import type { BoundedCache, MemoryUse } from "../../domain/bounded-cache.js";
import { Caches } from "../../domain/caches.js";
import { megabyte } from "../../domain/memory-size.js";
import type { Database } from "../database.js";
import { TableShape } from "../ledger/rows.js";
import { erasureLock } from "../ledger/write-turns.js";
import { list, type Sql, type SqlValue } from "../sql.js";
import { asStorageError } from "../storage-error.js";
import {
  type Blob,
  bytesOf,
  type StoredReceipt,
  type WaitingReceipt,
  WaitingReceipts,
} from "./waiting-receipts.js";

const receiptShape = new TableShape<StoredReceipt>("receipts", [
  ["tenantId", "tenant_id", "text"],
  ["id", "id", "text"],
  ["sessionId", "session_id", "text"],
  ["wire", "wire", "bytes"],
  ["contextWire", "context_wire", "bytes"],
  ["systemHash", "system_hash", "bytes"],
  ["toolsHash", "tools_hash", "bytes"],
  ["templatesHash", "templates_hash", "bytes"],
  ["createdUs", "created_us", "bigint"],
]);

const blobShape = new TableShape<Omit<Blob, "key"> & { readonly lastUsedUs: bigint }>("receipt_blobs", [
  ["tenantId", "tenant_id", "text"],
  ["hash", "hash", "bytes"],
  ["bytes", "bytes", "bytes"],
  ["lastUsedUs", "last_used_us", "bigint"],
]);
const onKnownBlob = " ON CONFLICT (tenant_id, hash) DO UPDATE SET last_used_us = excluded.last_used_us";

type Bytes = Uint8Array<ArrayBuffer>;

/** A batch that could not be written is tried again. */
const retryAfterMs = 1_000;
/** An assembly waits so long for its receipt to be written, and no longer: a context is worth more than its record. */
const patienceMs = 2_000;
/** So much is written in one transaction: it holds up the writers of turns. */
const batchBytes = 8 * megabyte;
const maxWaitingBytes = 64 * megabyte;

/**
 * An assembly waits until its receipt is written, but not for the disk: whatever was added meanwhile goes into one transaction, which
 * survives the end of the process at any moment. Until then a receipt can be read from what waits. While the database takes no writes,
 * no turn is recorded either, but contexts are still made: the newest of their receipts wait, and the oldest give way when they are
 * too many.
 */
export class ReceiptStore implements MemoryUse {
  readonly name = "receipts to be written";
  readonly maxBytes: number;
  private readonly waiting: WaitingReceipts;
  /** Blobs that are known to be stored, so that a system prompt is written once and not with every receipt. */
  private readonly stored: BoundedCache<true>;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();
  private next: Promise<void> | undefined;
  private isDropping = false;
  private isFailing = false;

  constructor(
    private readonly database: Database,
    private readonly onError: (error: unknown) => void,
    caches = new Caches(),
  ) {
    this.maxBytes = caches.bound(maxWaitingBytes);
    this.waiting = new WaitingReceipts();
    this.stored = caches.create<true>("stored layers", 4 * megabyte, () => 0);
    caches.add(this);
  }

  get bytes(): number {
    return this.waiting.bytes;
  }

  get entries(): number {
    return this.waiting.size;
  }

  /** Resolves when the receipt is stored, or when it is clear that this will take a while. It never rejects. */
  add(receipt: StoredReceipt, layers: readonly Buffer[]): Promise<void> {
    if (this.database.lost.aborted) return Promise.resolve();
    const { tenantId } = receipt;
    const hashes = [receipt.systemHash, receipt.toolsHash, receipt.templatesHash];
    const blobs = hashes.flatMap((hash, index): Blob[] => {
      if (!hash) return [];
      const key = blobKey(tenantId, hash);
      return this.stored.get(key) ? [] : [{ key, tenantId, hash, bytes: layers[index]! }];
    });
    const added = this.waiting.add(receipt, blobs);
    if (this.waiting.bytes > this.maxBytes) this.makeRoom(added);
    // While the database fails it is asked once a second, and not with every receipt.
    if (this.isFailing) {
      this.timer ??= setTimeout(() => this.flush(), retryAfterMs);
      return Promise.resolve();
    }
    this.next ??= patiently(this.writeNext());
    return this.next;
  }

  /** Forgets what waits for a session that was deleted. */
  dropSession(tenantId: string, sessionId: string): void {
    this.waiting.dropSession(tenantId, sessionId);
  }

  async find(tenantId: string, id: string): Promise<StoredReceipt | undefined> {
    const waiting = this.waiting.find(tenantId, id);
    if (waiting) return waiting;
    const row = await this.reading(() => this.database.reader.receipt.findFirst({ where: { tenantId, id } }));
    if (!row) return undefined;
    const { wire, contextWire, systemHash, toolsHash, templatesHash } = row;
    return {
      ...row,
      wire: Buffer.from(wire),
      contextWire: Buffer.from(contextWire),
      systemHash: Buffer.from(systemHash),
      toolsHash: Buffer.from(toolsHash),
      templatesHash: templatesHash && Buffer.from(templatesHash),
    };
  }

  /** The id of a session's newest receipt. Ids are in the order of their making. */
  async newestOf(tenantId: string, sessionId: string): Promise<string | undefined> {
    const where = { tenantId, sessionId };
    const row = await this.reading(() =>
      this.database.reader.receipt.findFirst({ where, select: { id: true }, orderBy: { id: "desc" } }),
    );
    return row?.id;
  }

  async findBlob(tenantId: string, hash: Buffer): Promise<Buffer | undefined> {
    const waiting = this.waiting.findBlob(blobKey(tenantId, hash));
    if (waiting) return waiting.bytes;
    const where = { tenantId, hash: hash as unknown as Bytes };
    const row = await this.reading(() => this.database.reader.receiptBlob.findFirst({ where }));
    return row ? Buffer.from(row.bytes) : undefined;
  }

  /** Writes what waits. Resolves when all that was added before is stored. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.flushing = this.flushing.then(() => this.writeWaiting());
    return this.flushing;
  }

  /** Assemblies that end in the same turn of the event loop, or while a batch is being written, share the next one. */
  private async writeNext(): Promise<void> {
    await new Promise((turn) => setImmediate(turn));
    await this.flushing;
    this.next = undefined;
    if (!this.isFailing) await this.flush();
  }

  /** Removes receipts that are older, and the layers that no receipt names any more. */
  async forget(olderThanUs: bigint): Promise<number> {
    // What comes from now on brings its layers along again; what waits is written first, and counts among those that name one.
    this.stored.clear();
    await this.flush();
    return this.database.transaction(async (tx) => {
      const { count } = await tx.receipt.deleteMany({ where: { createdUs: { lt: olderThanUs } } });
      if (count > 0) {
        await tx.$executeRawUnsafe(
          "DELETE FROM receipt_blobs WHERE NOT EXISTS (SELECT 1 FROM receipts r WHERE r.tenant_id = receipt_blobs.tenant_id AND (r.system_hash = receipt_blobs.hash OR r.tools_hash = receipt_blobs.hash OR r.templates_hash = receipt_blobs.hash))",
        );
      }
      return count;
    });
  }

  private async writeWaiting(): Promise<void> {
    let left = this.waiting.size;
    while (left > 0 && !this.database.lost.aborted) {
      const batch = this.waiting.oldest(left, batchBytes);
      if (batch.length === 0 || !(await this.writeBatch(batch))) return;
      left -= batch.length;
    }
  }

  private async writeBatch(batch: readonly WaitingReceipt[]): Promise<boolean> {
    const receipts = batch.map(({ receipt }) => receipt);
    const blobs = new Map(batch.flatMap((entry) => entry.blobs.map((blob) => [blob.key, blob])));
    try {
      await this.database.unsyncedTransaction(async (sql) => {
        const lastUsedUs = receipts.at(-1)!.createdUs;
        // In one order for all servers, so that two of them cannot wait for each other.
        const sorted = [...blobs.values()]
          .sort((a, b) => (a.key < b.key ? -1 : 1))
          .map((blob) => ({ ...blob, lastUsedUs }));
        await insert(sql, blobShape, sorted, onKnownBlob);
        await insert(sql, receiptShape, await ofLivingSessions(sql, receipts), "");
      });
    } catch (error) {
      this.onError(error);
      this.isFailing = true;
      if (!this.database.lost.aborted) this.timer ??= setTimeout(() => this.flush(), retryAfterMs);
      return false;
    }
    for (const key of blobs.keys()) this.stored.set(key, true);
    for (const entry of batch) this.waiting.remove(entry);
    this.isDropping = false;
    this.isFailing = false;
    return true;
  }

  /** What is being written just now is dropped only from what waits: its memory is free when the batch is over. */
  private makeRoom(added: WaitingReceipt): void {
    // The others need not go for one that cannot stay.
    if (bytesOf(added) > this.maxBytes) this.waiting.remove(added);
    for (const entry of this.waiting.all()) {
      if (this.waiting.bytes <= this.maxBytes) break;
      this.waiting.remove(entry);
    }
    if (!this.isDropping)
      this.onError(new Error("too many receipts wait for the database: the oldest are dropped"));
    this.isDropping = true;
  }

  private async reading<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

/** The work, or the end of the patience with it. */
function patiently(work: Promise<void>): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, patienceMs);
    work.then(() => {
      clearTimeout(timer);
      done();
    });
  });
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
