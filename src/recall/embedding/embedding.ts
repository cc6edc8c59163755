import type { Caches } from "../../domain/caches.js";
import type { Clock, Timers } from "../../domain/clock.js";
import type { Database } from "../../storage/database.js";
import { EmbeddingJobs } from "../../storage/recall/embedding-jobs.js";
import type { SearchStore } from "../../storage/recall/search-store.js";
import type { ClosableEmbedder } from "../embedders/embedded.js";
import { QueryVectors } from "../embedders/query-vectors.js";
import { TextVectors } from "../embedders/text-vectors.js";
import type { OpenVectors } from "../vectors/open-vectors.js";
import type { VectorIndex } from "../vectors/vector-index.js";
import { documentTexts } from "./document-texts.js";
import { EmbeddingWorker } from "./embedding-worker.js";

/** What an embedder brings to searches. */
export interface Embedding {
  readonly embedderId: string;
  readonly queries: QueryVectors;
  /** Of texts that are in no index. */
  readonly texts: TextVectors;
  readonly index: VectorIndex;
  readonly worker: EmbeddingWorker;
  /** Where vectors are compared. */
  readonly kind: OpenVectors["kind"];
  close(): Promise<void>;
}

/** An embedder, and where its vectors are. */
export interface EmbeddingParts {
  readonly embedder: ClosableEmbedder;
  readonly vectors: OpenVectors;
  readonly batchSize: number;
  readonly onFailure: (words: string) => void;
  readonly onRecovery: () => void;
}

export interface EmbeddingDeps extends EmbeddingParts {
  readonly database: Database;
  readonly store: SearchStore;
  readonly caches: Caches;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** What other servers left is looked for so often, and texts that were refused. */
const pollMs = 15_000;

/** Begins to give documents their vectors. */
export function startEmbedding(deps: EmbeddingDeps): Embedding {
  const { embedder, vectors, database, store, caches, clock, timers } = deps;
  const queries = new QueryVectors({ embedder, caches, clock, timers });
  const texts = new TextVectors({ embedder, caches, clock, batchSize: deps.batchSize });
  const worker = new EmbeddingWorker({
    embedder,
    jobs: new EmbeddingJobs(database),
    store: vectors.store,
    vectors: vectors.index,
    textsOf: (jobs) => documentTexts(store, jobs),
    timers,
    batchSize: deps.batchSize,
    pollMs,
    onFailure: deps.onFailure,
    onRecovery: deps.onRecovery,
  });
  worker.start();
  return {
    embedderId: embedder.id,
    queries,
    texts,
    index: vectors.index,
    worker,
    kind: vectors.kind,
    async close() {
      queries.close();
      await texts.close();
      await worker.close();
      await vectors.close();
      await embedder.close();
    },
  };
}
