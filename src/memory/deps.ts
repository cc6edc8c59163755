import { randomBytes } from "node:crypto";
import { Caches } from "../domain/caches.js";
import { type Clock, type Ids, systemClock, systemIds } from "../domain/clock.js";
import type { Offload } from "../offload/offload.js";
import type { Database } from "../storage/database.js";
import { BlockStore } from "../storage/memory/block-store.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { BlockReader } from "./block-reader.js";
import { BlockWriter } from "./blocks/block-writer.js";
import { DocumentCache } from "./document/document-cache.js";
import { warmDocuments } from "./document/warm-documents.js";
import { UpdateChecker } from "./sync/update-checker.js";
import { BlockWatches } from "./watch/block-watches.js";

/** One text that an agent found in its memory. */
export interface FoundText {
  /** What it is, in words for a model: "block notes", "archival memory", "message of user". */
  readonly from: string;
  readonly speaker: string;
  readonly time: Date;
  readonly text: string;
}

/** Finds what an agent may read, the best first, and says what was not searched; empty where all was. */
export type SearchForAgent = (
  tenantId: string,
  asked: { readonly agent: string; readonly query: string; readonly limit: number },
  signal?: AbortSignal,
) => Promise<{ readonly found: readonly FoundText[]; readonly note: string }>;

/** What the commands on memory work with. */
export interface MemoryDeps {
  readonly store: BlockStore;
  readonly writer: BlockWriter;
  readonly reader: BlockReader;
  readonly documents: DocumentCache;
  readonly counter: TokenCounter;
  readonly watches: BlockWatches;
  /** Where clients' updates are looked at. */
  readonly checker: UpdateChecker;
  readonly search: SearchForAgent;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface MemoryOptions {
  readonly database: Database;
  readonly counter: TokenCounter;
  readonly offload: Offload;
  readonly search: SearchForAgent;
  readonly watchPollMs?: number;
  readonly onWatchFailure?: (error: unknown) => void;
  /** Told when blocks or archival entries were written. */
  readonly onWritten?: () => void;
  readonly caches?: Caches;
  readonly clock?: Clock;
  readonly ids?: Ids;
}

/** What the commands on memory need, on one database. */
export function createMemory(options: MemoryOptions): MemoryDeps {
  const { database, counter, search, caches = new Caches(), clock = systemClock, ids = systemIds } = options;
  warmDocuments();
  const store = new BlockStore(database, options.onWritten);
  const documents = new DocumentCache(caches, serverPeer(), options.offload);
  const writer = new BlockWriter({ store, documents, counter, clock });
  const reader = new BlockReader(database, caches);
  const checker = new UpdateChecker();
  const { watchPollMs: pollMs = 1_000, onWatchFailure: onFailure = () => undefined } = options;
  const watches = new BlockWatches(store, writer, { pollMs, onFailure });
  return { store, writer, reader, documents, watches, counter, checker, search, clock, ids };
}

/** Clients are given smaller ones: whatever begins with a 1 is a server's. */
const serverBit = 1n << 63n;

/** Under which peer id this process writes: its own, as long as it lives. */
function serverPeer(): bigint {
  return randomBytes(8).readBigUInt64BE() | serverBit;
}
