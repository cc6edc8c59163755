import type { BoundedCache, MemoryUse } from "../../domain/bounded-cache.js";
import { Caches } from "../../domain/caches.js";
import { megabyte } from "../../domain/memory-size.js";
import type { Database } from "../database.js";
import { deleteInSlices } from "../delete-in-slices.js";
import { asStorageError } from "../storage-error.js";
import { Patience } from "./patience.js";
import { newestUs, receiptStatements } from "./receipt-statements.js";
import {
  type Blob,
  bytesOf,
  type StoredReceipt,
  type WaitingReceipt,
  WaitingReceipts,
} from "./waiting-receipts.js";

type Bytes = Uint8Array<ArrayBuffer>;

/** A batch that could not be written is tried again. */
const retryAfterMs = 1_000;
/** An assembly waits so long for its receipt to be written, or twice as long, and no longer: a context is worth more than its record. */
const patienceMs = 1_000;
/** So much is written in one transaction: it holds up the writers of turns. */
const batchBytes = 8 * megabyte;
const maxWaitingBytes = 64 * megabyte;
/** A layer's time of last use is at most so much older than the newest receipt that names it. */
const useUs = 3_600_000_000n;

/** Databases bound the values of one statement. */
const idsPerRead = 256;

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
  /** Blobs that are known to be stored, and their time of last use there, so that a system prompt is written once an hour and not with every receipt. */
  private readonly stored: BoundedCache<{ readonly lastUsedUs: bigint }>;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();
  private next: Promise<void> | undefined;
  private readonly patience = new Patience((ranOut) => setTimeout(ranOut, patienceMs).unref());
  private isDropping = false;
  private isFailing = false;

  constructor(
    private readonly database: Database,
    private readonly onError: (error: unknown) => void,
    caches = new Caches(),
  ) {
    this.maxBytes = caches.bound(maxWaitingBytes);
    this.waiting = new WaitingReceipts();
    this.stored = caches.create("stored layers", 4 * megabyte, () => 40);
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
      const known = this.stored.get(key);
      const isStored = known !== undefined && receipt.createdUs - known.lastUsedUs < useUs;
      return isStored ? [] : [{ key, tenantId, hash, bytes: layers[index]! }];
    });
    const added = this.waiting.add(receipt, blobs);
    if (this.waiting.bytes > this.maxBytes) this.makeRoom(added);
    // While the database fails it is asked once a second, and not with every receipt.
    if (this.isFailing) {
      this.timer ??= setTimeout(() => this.flush(), retryAfterMs);
      return Promise.resolve();
    }
    this.next ??= this.patience.wait(this.writeNext());
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

  /** Which session each of these receipts belongs to; those that are not known are left out. */
  async sessionsOf(tenantId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const select = { id: true, sessionId: true };
    for (let at = 0; at < ids.length; at += idsPerRead) {
      const where = { tenantId, id: { in: ids.slice(at, at + idsPerRead) } };
      const rows = await this.reading(() => this.database.reader.receipt.findMany({ where, select }));
      for (const { id, sessionId } of rows) found.set(id, sessionId);
    }
    for (const id of ids) {
      const waiting = this.waiting.find(tenantId, id);
      if (waiting) found.set(id, waiting.sessionId);
    }
    return found;
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

  /** Assemblies that are through when nothing else can go on without the event loop share a batch, as do those that end while one is being written. */
  private async writeNext(): Promise<void> {
    await new Promise<void>((turn) => process.nextTick(turn));
    await this.flushing;
    this.next = undefined;
    if (!this.isFailing) await this.flush();
  }

  /** Removes receipts that are older, and the layers that no other one can name. */
  async forget(olderThanUs: bigint, stop?: AbortSignal): Promise<number> {
    const old = { table: "receipts", key: ["tenant_id", "id"], column: "created_us", olderThanUs };
    const count = await deleteInSlices(this.database, old, stop);
    const unused = { table: "receipt_blobs", key: ["tenant_id", "hash"], column: "last_used_us" };
    await deleteInSlices(this.database, { ...unused, olderThanUs: olderThanUs - useUs }, stop);
    return count;
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
    try {
      await this.database.unsyncedWrite(receiptStatements(this.database.dialect, batch));
    } catch (error) {
      this.onError(error);
      this.isFailing = true;
      if (!this.database.lost.aborted) this.timer ??= setTimeout(() => this.flush(), retryAfterMs);
      return false;
    }
    const lastUsedUs = newestUs(batch);
    for (const entry of batch) {
      for (const { key } of entry.blobs) this.stored.set(key, { lastUsedUs });
      this.waiting.remove(entry);
    }
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

function blobKey(tenantId: string, hash: Buffer): string {
  return `${tenantId}/${hash.toString("base64")}`;
}
