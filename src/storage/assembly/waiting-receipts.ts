import { bufferBytes, textBytes } from "../../domain/memory-size.js";

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
  /** Of the words that models read; null for receipts of a time when they could not be replaced. */
  readonly templatesHash: Buffer | null;
  readonly createdUs: bigint;
}

/** A system prompt, tools or templates, as they are stored. */
export interface Blob {
  readonly key: string;
  readonly tenantId: string;
  readonly hash: Buffer;
  readonly bytes: Buffer;
}

/** A receipt that is not written yet, with those of its layers that are not either. */
export interface WaitingReceipt {
  readonly receipt: StoredReceipt;
  readonly blobs: readonly Blob[];
}

interface SharedBlob {
  readonly blob: Blob;
  users: number;
}

/** Receipts that wait to be written, the oldest first, and what they take in memory. A layer of several is there once. */
export class WaitingReceipts {
  private readonly receipts = new Map<string, WaitingReceipt>();
  private readonly blobs = new Map<string, SharedBlob>();
  private held = 0;

  get size(): number {
    return this.receipts.size;
  }

  get bytes(): number {
    return this.held;
  }

  add(receipt: StoredReceipt, blobs: readonly Blob[]): WaitingReceipt {
    const entry = { receipt, blobs: blobs.map((blob) => this.share(blob)) };
    this.receipts.set(keyOf(receipt.tenantId, receipt.id), entry);
    this.held += receiptBytes(receipt);
    return entry;
  }

  find(tenantId: string, id: string): StoredReceipt | undefined {
    return this.receipts.get(keyOf(tenantId, id))?.receipt;
  }

  findBlob(key: string): Blob | undefined {
    return this.blobs.get(key)?.blob;
  }

  all(): IterableIterator<WaitingReceipt> {
    return this.receipts.values();
  }

  /** The oldest, so many at most and no more bytes than given; but one, however large. */
  oldest(count: number, maxBytes: number): WaitingReceipt[] {
    const taken: WaitingReceipt[] = [];
    let bytes = 0;
    for (const entry of this.receipts.values()) {
      bytes += bytesOf(entry);
      if (taken.length >= count || (taken.length > 0 && bytes > maxBytes)) break;
      taken.push(entry);
    }
    return taken;
  }

  /** Lets go of one, unless it is gone already. */
  remove(entry: WaitingReceipt): void {
    const { receipt, blobs } = entry;
    const key = keyOf(receipt.tenantId, receipt.id);
    if (this.receipts.get(key) !== entry) return;
    this.receipts.delete(key);
    this.held -= receiptBytes(receipt);
    for (const blob of blobs) this.release(blob);
  }

  dropSession(tenantId: string, sessionId: string): void {
    for (const entry of this.receipts.values()) {
      const { receipt } = entry;
      if (receipt.tenantId === tenantId && receipt.sessionId === sessionId) this.remove(entry);
    }
  }

  private share(blob: Blob): Blob {
    const known = this.blobs.get(blob.key);
    if (known) {
      known.users++;
      return known.blob;
    }
    this.blobs.set(blob.key, { blob, users: 1 });
    this.held += blobBytes(blob);
    return blob;
  }

  private release(blob: Blob): void {
    const shared = this.blobs.get(blob.key)!;
    if (--shared.users > 0) return;
    this.blobs.delete(blob.key);
    this.held -= blobBytes(blob);
  }
}

function keyOf(tenantId: string, id: string): string {
  return `${tenantId}/${id}`;
}

/** What one takes by itself. */
export function bytesOf({ receipt, blobs }: WaitingReceipt): number {
  return blobs.reduce((sum, blob) => sum + blobBytes(blob), receiptBytes(receipt));
}

function receiptBytes({ tenantId, id, wire, contextWire }: StoredReceipt): number {
  return 1_024 + textBytes(tenantId) + textBytes(id) + bufferBytes(wire) + bufferBytes(contextWire);
}

function blobBytes({ key, bytes }: Blob): number {
  return 512 + textBytes(key) + bufferBytes(bytes);
}
