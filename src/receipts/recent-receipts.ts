import { Receipt } from "../contract/gen/quire/v1/assembly.js";
import type { BoundedCache } from "../domain/bounded-cache.js";
import type { Caches } from "../domain/caches.js";
import { bufferBytes, megabyte, textBytes } from "../domain/memory-size.js";
import type { ReceiptStore } from "../storage/assembly/receipt-store.js";
import { coreWire } from "./receipt-wire.js";

/** What later assemblies look at in a receipt. Its lists are long, and for people. */
export type ReceiptCore = Omit<Receipt, "candidates" | "inputs">;

interface Kept {
  readonly sessionId: string;
  readonly wire: Buffer;
}

const maxBytes = 16 * megabyte;

/** Receipts that were made or read lately: the next assembly of their session looks at them again. Kept as bytes, whose size is known. */
export class RecentReceipts {
  private readonly kept: BoundedCache<Kept>;

  constructor(
    private readonly store: ReceiptStore,
    caches: Caches,
  ) {
    this.kept = caches.create<Kept>(
      "recent receipts",
      maxBytes,
      ({ sessionId, wire }) => textBytes(sessionId) + bufferBytes(wire),
    );
  }

  /** Takes the core of a receipt in wire form, in memory of its own. */
  keep(tenantId: string, { assemblyId, sessionId }: ReceiptCore, wire: Buffer): void {
    this.kept.set(keyOf(tenantId, assemblyId), { sessionId, wire });
  }

  async find(tenantId: string, assemblyId: string): Promise<ReceiptCore | undefined> {
    const known = this.kept.get(keyOf(tenantId, assemblyId));
    if (known) return Receipt.decode(known.wire);
    const stored = await this.store.find(tenantId, assemblyId);
    if (!stored) return undefined;
    const receipt = Receipt.decode(stored.wire);
    this.keep(tenantId, receipt, coreWire(receipt));
    return receipt;
  }

  dropSession(tenantId: string, sessionId: string): void {
    const prefix = keyOf(tenantId, "");
    this.kept.deleteWhere((kept, key) => kept.sessionId === sessionId && key.startsWith(prefix));
  }
}

function keyOf(tenantId: string, assemblyId: string): string {
  return `${tenantId}/${assemblyId}`;
}
