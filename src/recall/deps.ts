import { Caches } from "../domain/caches.js";
import { type Clock, systemClock, systemTimers, type Timers } from "../domain/clock.js";
import type { Database } from "../storage/database.js";
import { SearchStore } from "../storage/recall/search-store.js";
import { MessageNames } from "./context/message-names.js";
import { type Embedding, type EmbeddingParts, startEmbedding } from "./embedding/embedding.js";
import { Indexer } from "./indexing/indexer.js";
import { packagedWeights, type WeightSets } from "./ranking/weights.js";
import { PartitionTables } from "./search/partition-tables.js";

/** What searches work with. */
export interface RecallDeps {
  readonly store: SearchStore;
  readonly indexer: Indexer;
  readonly tables: PartitionTables;
  readonly names: MessageNames;
  readonly weights: WeightSets;
  /** Vectors, where there is an embedder. */
  readonly embedding: Embedding | undefined;
  readonly clock: Clock;
  close(): Promise<void>;
}

export interface RecallOptions {
  readonly database: Database;
  readonly embedding?: EmbeddingParts | undefined;
  readonly onFailure?: (error: unknown) => void;
  /** Called when documents were added. */
  readonly onIndexed?: () => void;
  readonly caches?: Caches;
  readonly clock?: Clock;
  readonly timers?: Timers;
}

export function createRecall(options: RecallOptions): RecallDeps {
  const { database, caches = new Caches(), clock = systemClock, timers = systemTimers } = options;
  const store = new SearchStore(database, options.embedding !== undefined);
  const embedding =
    options.embedding && startEmbedding({ ...options.embedding, database, store, caches, clock, timers });
  // It goes by how long it has been quiet, whatever runs out elsewhere.
  const indexer = new Indexer(store, systemTimers, options.onFailure ?? (() => undefined), () => {
    embedding?.worker.wake();
    options.onIndexed?.();
  });
  return {
    store,
    indexer,
    tables: new PartitionTables(store, caches),
    names: new MessageNames(caches),
    weights: packagedWeights(),
    embedding,
    clock,
    async close() {
      await indexer.close();
      await embedding?.close();
    },
  };
}
