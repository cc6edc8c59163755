import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import type { Clock } from "../../domain/clock.js";
import { type Offload, task } from "../../offload/offload.js";
import type { KnownEmbedder, VectorPlace, VectorStore } from "../../storage/recall/vector-store.js";
import { checkDimensions } from "./check-dimensions.js";
import { type Nearest, type ScanTask, scanCost, type scanOffloaded, scanVectors } from "./scan-vectors.js";
import type { DocumentVector, Survey, SurveyOptions, VectorIndex } from "./vector-index.js";
import { VectorSet } from "./vector-set.js";

const scanning = task<typeof scanOffloaded>("src/recall/vectors/scan-vectors.ts", "scanOffloaded");
/** So many numbers are looked at in a millisecond or two; more go to a worker thread, and to tell it of them takes as long. */
const fewNumbers = 1_500_000;
const sliceVectors = 200;
/** A vector that another server wrote may become visible some time after it was written: so far back is looked. */
const overlapUs = 10_000_000n;
/** After so long a partition is read anew: other servers may have deleted documents of it. */
const longestMs = 3_600_000;

export const noVectors: Survey = {
  ids: new Int32Array(),
  cosines: new Float32Array(),
  count: 0,
};

/** Vectors in this process's memory, partition by partition as they are asked for. */
export class InProcessVectors implements VectorIndex {
  private readonly sets: BoundedCache<VectorSet>;
  private readonly loading = new Map<string, Promise<VectorSet>>();

  constructor(
    private readonly store: VectorStore,
    private readonly offload: Offload,
    private readonly clock: Clock,
    caches: Caches,
    cacheBytes: number,
  ) {
    this.sets = caches.create<VectorSet>("vectors", cacheBytes, (set) => set.bytes);
  }

  async put(embedderId: string, entries: readonly DocumentVector[]): Promise<void> {
    if (entries.length === 0) return;
    const embedder = await this.store.openEmbedder(embedderId, entries[0]!.vector.length);
    checkDimensions(embedder, entries);
    await this.store.put(embedder.id, entries);
    const ids = entries.map(({ documentId }) => documentId);
    const partitions = await this.store.partitionsOf(embedder.id, ids);
    for (const { documentId, vector } of entries) {
      const partitionId = partitions.get(documentId);
      if (partitionId === undefined) continue;
      const key = keyOf(partitionId, embedder.id);
      // What is being read may have passed by this vector already.
      const set = this.sets.peek(key) ?? (await this.loading.get(key));
      if (set === undefined) continue;
      set.set(documentId, vector);
      this.keep(key, set);
    }
  }

  forget(documentIds: readonly number[]): void {
    this.sets.deleteWhere((set) => {
      for (const id of documentIds) set.delete(id);
      return false;
    });
  }

  async survey(embedderId: string, query: Float32Array, options: SurveyOptions): Promise<Survey> {
    const { scope, nearest, documentIds = [], signal } = options;
    const embedder = await this.store.findEmbedder(embedderId);
    if (embedder === undefined || embedder.dimensions !== query.length) return noVectors;
    const sets: VectorSet[] = [];
    for (const partitionId of scope.partitionIds) {
      signal?.throwIfAborted();
      sets.push(await this.set(partitionId, embedder));
    }
    const found = await this.nearest(sets, query, nearest, signal);
    const others = new Set(documentIds);
    for (const id of found.ids) others.delete(id);
    const ids = [...found.ids];
    const cosines = [...found.cosines];
    for (const set of sets)
      set.cosines(others, query, (id, cosine) => {
        ids.push(id);
        cosines.push(cosine);
      });
    return {
      ids: Int32Array.from(ids),
      cosines: Float32Array.from(cosines),
      count: sets.reduce((sum, set) => sum + set.size, 0),
    };
  }

  private async nearest(
    sets: readonly VectorSet[],
    query: Float32Array,
    nearest: number,
    signal: AbortSignal | undefined,
  ): Promise<Nearest> {
    if (nearest === 0) return noVectors;
    const scan: ScanTask = { sets: sets.map(({ rowSet }) => rowSet), query, nearest };
    return scanCost(scan) <= fewNumbers ? scanVectors(scan) : this.offload.run(scanning, scan, signal);
  }

  /** A partition's vectors, with all that was written before now. */
  private async set(partitionId: number, embedder: KnownEmbedder): Promise<VectorSet> {
    const key = keyOf(partitionId, embedder.id);
    const kept = this.sets.get(key);
    const isFresh = kept && (!this.store.isShared || this.clock.now() - kept.sinceMs < longestMs);
    if (isFresh && !this.store.isShared) return kept;
    const running = this.loading.get(key);
    if (running) return running;
    const set = isFresh ? kept : new VectorSet(embedder.dimensions, this.clock.now());
    const work = this.read(partitionId, embedder.id, set).finally(() => this.loading.delete(key));
    this.loading.set(key, work);
    await work;
    this.keep(key, set);
    return set;
  }

  private async read(partitionId: number, embedderId: number, set: VectorSet): Promise<VectorSet> {
    let from: VectorPlace = { writtenUs: set.readUs - overlapUs, documentId: 0 };
    let begunUs: bigint | undefined;
    for (;;) {
      const slice = await this.store.since(partitionId, embedderId, from, sliceVectors);
      for (const { documentId, vector } of slice) set.set(documentId, vector);
      const last = slice.at(-1);
      if (!last) break;
      begunUs ??= last.readUs;
      from = { writtenUs: last.writtenUs, documentId: last.documentId };
      if (slice.length < sliceVectors) break;
      await new Promise((turn) => setImmediate(turn));
    }
    // What was written in a moment is not read again and again for being the last.
    if (begunUs !== undefined) set.readUs = begunUs;
    return set;
  }

  /** Says again how large it is. */
  private keep(key: string, set: VectorSet): void {
    this.sets.set(key, set);
  }
}

function keyOf(partitionId: number, embedderId: number): string {
  return `${partitionId}/${embedderId}`;
}
