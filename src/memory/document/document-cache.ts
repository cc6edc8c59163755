import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import { megabyte } from "../../domain/memory-size.js";
import type { Soon } from "../../domain/soon.js";
import { type Offload, task } from "../../offload/offload.js";
import type { BlockReads } from "../../storage/memory/block-reads.js";
import type { BlockRow } from "../../storage/memory/rows.js";
import { BlockDocument, type MergedDocument } from "./block-document.js";
import type { SectionContent } from "./content.js";
import { type contentThen, type foldedDocument, type Moment, sizeOf } from "./stored-document.js";

const maxCacheBytes = 32 * megabyte;
/** What an open document takes beside what it holds. */
const openBytes = 48 * 1024;

/** So much is imported here; what is more, in a worker thread. */
const mostTailBytes = 8 * 1024;

const folding = task<typeof foldedDocument>("src/memory/document/stored-document.ts", "foldedDocument");
const readingThen = task<typeof contentThen>("src/memory/document/stored-document.ts", "contentThen");

/** Documents that were used lately, open. One that is in use is not among them: who takes it gives it back, or throws it away. */
export class DocumentCache {
  private readonly open: BoundedCache<BlockDocument>;
  private readonly taken = new Set<BlockDocument>();

  constructor(
    caches: Caches,
    private readonly peer: bigint,
    private readonly offload: Offload,
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
      if (known.revision === revision || (await this.catchUp(reads, tenantId, blockId, known, revision)))
        return known;
    }
    const { snapshot, snapshotRevision } = await reads.snapshot(tenantId, blockId);
    const tail = await reads.updates(tenantId, blockId, snapshotRevision, revision);
    const isLong = sizeOf(tail) > mostTailBytes;
    const document = isLong
      ? BlockDocument.open(this.peer, await this.offload.run(folding, { snapshot, tail }), revision)
      : BlockDocument.open(this.peer, snapshot, snapshotRevision);
    this.taken.add(document);
    if (!isLong && snapshotRevision < revision)
      await this.orFree(document, () => document.catchUp(tail, revision));
    return document;
  }

  /** What a block held once. */
  async contentThen(
    reads: BlockReads,
    { tenantId, id, revision }: Pick<BlockRow, "tenantId" | "id" | "revision">,
    moment: Moment,
  ): Promise<readonly SectionContent[]> {
    const { snapshot, snapshotRevision } = await reads.snapshot(tenantId, id);
    const tail = await reads.updates(tenantId, id, snapshotRevision, revision);
    return this.offload.run(readingThen, { stored: { snapshot, tail }, moment });
  }

  /** A document with what was merged elsewhere, on top of a revision. */
  merged(document: MergedDocument, revision: number): BlockDocument {
    const opened = BlockDocument.openMerged(this.peer, document, revision);
    this.taken.add(opened);
    return opened;
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

  /**
   * Brings an open document to a later revision, unless that may take long: then it is freed. It is not brought past a snapshot, which
   * is stored with whatever takes long to merge.
   */
  private async catchUp(
    reads: BlockReads,
    tenantId: string,
    blockId: string,
    document: BlockDocument,
    revision: number,
  ): Promise<boolean> {
    const isCaughtUp = await this.orFree(document, async () => {
      if ((await reads.snapshotRevision(tenantId, blockId)) > document.revision) return false;
      const tail = await reads.updates(tenantId, blockId, document.revision, revision);
      if (sizeOf(tail) > mostTailBytes) return false;
      document.catchUp(tail, revision);
      return true;
    });
    if (!isCaughtUp) this.throwAway(document);
    return isCaughtUp;
  }

  private async orFree<T>(document: BlockDocument, work: () => Soon<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.throwAway(document);
      throw error;
    }
  }
}
