import type { Caches } from "../../domain/caches.js";

export interface SqliteAdapterOptions {
  /** The database file. A writer creates it when missing; a reader needs it to be there. */
  readonly path: string;
  /** A reader refuses to write. Its transactions see one snapshot and never wait for the writer. */
  readonly mode: "writer" | "reader";
  /** How long to wait for another process that writes. */
  readonly busyTimeoutMs?: number;
  /** How long a query or transaction waits in line for the transaction that is open on this connection. */
  readonly gateTimeoutMs?: number;
  /** FULL makes a commit durable before it is acknowledged; NORMAL may lose the last ones with the power. */
  readonly synchronous?: "FULL" | "NORMAL";
  /** The log is folded into the file when it has so many pages. */
  readonly logPages?: number;
  readonly caches?: Caches;
  /** Paths of SQLite extensions to load. */
  readonly extensions?: readonly string[];
}

export type SqliteSettings = Required<SqliteAdapterOptions>;

export const sqliteDefaults = {
  busyTimeoutMs: 10_000,
  gateTimeoutMs: 30_000,
  synchronous: "FULL",
  logPages: 8_000,
  extensions: [],
} as const;

/** What SQLite keeps of the file in memory. Most is read on the writer's connection. */
const cacheKib = { writer: 16_384, reader: 4_096 };

/** SQLite's own wait blocks the event loop: long enough for another process's short transaction, no more. */
const blockingWaitMs = 50;

export function openingPragmas(settings: SqliteSettings): string {
  const { mode, busyTimeoutMs, synchronous, logPages } = settings;
  return [
    `PRAGMA busy_timeout = ${Math.min(blockingWaitMs, busyTimeoutMs)}`,
    `PRAGMA cache_size = -${cacheKib[mode]}`,
    "PRAGMA foreign_keys = ON",
    ...(mode === "writer"
      ? [
          "PRAGMA journal_mode = WAL",
          `PRAGMA synchronous = ${synchronous}`,
          // Done by the LogFolder, in another thread; by a commit only where that did not keep up.
          `PRAGMA wal_autocheckpoint = ${4 * logPages}`,
          "PRAGMA journal_size_limit = 67108864",
          // What is erased is overwritten, not just unlinked.
          "PRAGMA secure_delete = ON",
        ]
      : ["PRAGMA query_only = ON"]),
  ].join(";");
}
