import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import { megabyte } from "../../domain/memory-size.js";
import type { BlockReads } from "../../storage/memory/block-reads.js";
import { BlockDocument } from "./block-document.js";

const maxCacheBytes = 32 * megabyte;
/** What an open document takes beside what it holds. */
const openBytes = 48 * 1024;

/** Documents that were used lately, open. One that is in use is not among them: who takes it gives it back, or throws it away. */
export class DocumentCache {
  private readonly open: BoundedCache<BlockDocument>;
  private readonly taken = new Set<BlockDocument>();

  constructor(
    caches: Caches,
    private readonly peer: bigint,
  ) {
    this.open = caches.create<BlockDocument>(
      "memory documents",
      maxCacheBytes,
      ({ bytes }) => openBytes + 4 * bytes,
      (document) => {
        if (!this.taken.has(document)) document.free();
      },
    );
  }

  /** The document of a block as of a revision. Until it is given back, nobody else has it. */
  async take(reads: BlockReads, tenantId: string, blockId: string, revision: number): Promise<BlockDocument> {
    const key = `${tenantId}/${blockId}`;
    const known = this.open.peek(key);
    if (known && known.revision <= revision) {
      this.taken.add(known);
      this.open.delete(key);
      if (known.revision === revision) return known;
      return this.orFree(known, async () => {
        known.catchUp(await reads.updates(tenantId, blockId, known.revision, revision), revision);
      });
    }
    const { snapshot, snapshotRevision } = await reads.snapshot(tenantId, blockId);
    const document = BlockDocument.open(this.peer, snapshot, snapshotRevision);
    this.taken.add(document);
    return this.orFree(document, async () => {
      if (snapshotRevision < revision)
        document.catchUp(await reads.updates(tenantId, blockId, snapshotRevision, revision), revision);
    });
  }

  /** A document of a block that is not stored yet. */
  create(): BlockDocument {
    const document = BlockDocument.open(this.peer, undefined, 0);
    this.taken.add(document);
    return document;
  }

  giveBack(tenantId: string, blockId: string, document: BlockDocument): void {
    this.taken.delete(document);
    if (document.isFreed) return;
    const key = `${tenantId}/${blockId}`;
    this.open.set(key, document);
    // One that is larger than the whole cache is not kept.
    if (this.open.peek(key) !== document) document.free();
  }

  /** For a document that holds what was not stored: nobody may go on from it. */
  throwAway(document: BlockDocument): void {
    this.taken.delete(document);
    document.free();
  }

  forget(tenantId: string, blockId: string): void {
    this.open.delete(`${tenantId}/${blockId}`);
  }

  private async orFree(document: BlockDocument, work: () => Promise<void>): Promise<BlockDocument> {
    try {
      await work();
      return document;
    } catch (error) {
      this.throwAway(document);
      throw error;
    }
  }
}
