import type { PgvectorTables } from "../../storage/recall/pgvector-tables.js";
import type { KnownEmbedder, VectorStore } from "../../storage/recall/vector-store.js";
import { checkDimensions } from "./check-dimensions.js";
import { noVectors } from "./in-process-vectors.js";
import type { DocumentVector, Survey, SurveyOptions, VectorIndex } from "./vector-index.js";

/**
 * Vectors in PostgreSQL, by pgvector. Until an embedder's table holds what was stored before there was pgvector, its searches are
 * answered by another index.
 */
export class PgvectorIndex implements VectorIndex {
  private readonly made = new Map<number, Promise<void>>();
  private readonly filled = new Map<number, Promise<void>>();
  private readonly ready = new Set<number>();
  private isClosed = false;

  constructor(
    private readonly tables: PgvectorTables,
    private readonly store: VectorStore,
    private readonly meanwhile: VectorIndex,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  async put(embedderId: string, entries: readonly DocumentVector[]): Promise<void> {
    if (entries.length === 0) return;
    const embedder = await this.store.openEmbedder(embedderId, entries[0]!.vector.length);
    checkDimensions(embedder, entries);
    await this.make(embedder);
    await this.store.put(embedder.id, entries, this.tables.insert(embedder, entries));
  }

  forget(documentIds: readonly number[]): void {
    this.meanwhile.forget(documentIds);
  }

  async survey(embedderId: string, query: Float32Array, options: SurveyOptions): Promise<Survey> {
    const { scope, nearest, documentIds = [], signal } = options;
    const embedder = await this.store.findEmbedder(embedderId);
    if (embedder === undefined || embedder.dimensions !== query.length || scope.partitionIds.length === 0)
      return noVectors;
    if (!this.ready.has(embedder.id)) {
      this.fill(embedder).catch(this.onFailure);
      return this.meanwhile.survey(embedderId, query, options);
    }
    const { partitionIds } = scope;
    const count = await this.tables.count(embedder, partitionIds);
    const found =
      nearest > 0 ? [...(await this.tables.nearest(embedder, query, partitionIds, nearest, count))] : [];
    signal?.throwIfAborted();
    const known = new Set(found.map(({ documentId }) => documentId));
    const others = [...new Set(documentIds)].filter((id) => !known.has(id));
    found.push(...(await this.tables.cosines(embedder, query, partitionIds, others)));
    signal?.throwIfAborted();
    return {
      ids: Int32Array.from(found, ({ documentId }) => documentId),
      cosines: Float32Array.from(found, ({ cosine }) => cosine),
      count,
    };
  }

  /** Resolves when the embedder's table holds all that is stored. */
  async fill(embedder: KnownEmbedder): Promise<void> {
    let work = this.filled.get(embedder.id);
    if (work === undefined) {
      work = this.fillNow(embedder);
      this.filled.set(embedder.id, work);
      work.catch(() => this.filled.delete(embedder.id));
    }
    await work;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.allSettled(this.filled.values());
  }

  private async fillNow(embedder: KnownEmbedder): Promise<void> {
    await this.make(embedder);
    for (let last: number | undefined = 0; last !== undefined && !this.isClosed; )
      last = await this.tables.fill(embedder, last);
    if (this.isClosed) return;
    await this.tables.index(embedder);
    this.ready.add(embedder.id);
  }

  private make(embedder: KnownEmbedder): Promise<void> {
    let work = this.made.get(embedder.id);
    if (work === undefined) {
      work = this.tables.create(embedder);
      this.made.set(embedder.id, work);
      work.catch(() => this.made.delete(embedder.id));
    }
    return work;
  }
}
