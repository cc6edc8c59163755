import type { Caches } from "../../domain/caches.js";
import type { Clock } from "../../domain/clock.js";
import type { Offload } from "../../offload/offload.js";
import type { Database } from "../../storage/database.js";
import { PgvectorTables } from "../../storage/recall/pgvector-tables.js";
import { VectorStore } from "../../storage/recall/vector-store.js";
import { InProcessVectors } from "./in-process-vectors.js";
import { PgvectorIndex } from "./pgvector-index.js";
import type { VectorIndex } from "./vector-index.js";

export interface VectorDeps {
  readonly database: Database;
  readonly offload: Offload;
  readonly clock: Clock;
  readonly caches: Caches;
  readonly cacheBytes: number;
  readonly onFailure: (error: unknown) => void;
}

export interface OpenVectors {
  readonly store: VectorStore;
  readonly index: VectorIndex;
  /** Where vectors are compared. */
  readonly kind: "in process" | "pgvector";
  close(): Promise<void>;
}

/** The best index of vectors that the database has: pgvector, else this process's memory. */
export async function openVectors(deps: VectorDeps): Promise<OpenVectors> {
  const { database, offload, clock, caches, cacheBytes, onFailure } = deps;
  const store = new VectorStore(database);
  const inProcess = new InProcessVectors(store, offload, clock, caches, cacheBytes);
  const tables = await PgvectorTables.open(database).catch((error: unknown) => {
    onFailure(error);
    return undefined;
  });
  if (tables === undefined)
    return { store, index: inProcess, kind: "in process", close: async () => undefined };
  const index = new PgvectorIndex(tables, store, inProcess, onFailure);
  return { store, index, kind: "pgvector", close: () => index.close() };
}
