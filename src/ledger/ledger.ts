import { Caches } from "../domain/caches.js";
import { type Clock, type Ids, systemClock, systemIds, systemTimers, type Timers } from "../domain/clock.js";
import type { Database } from "../storage/database.js";
import { CompactionStore } from "../storage/ledger/compaction-store.js";
import { HeadLog } from "../storage/ledger/head-log.js";
import { SessionStore } from "../storage/ledger/session-store.js";
import { ThreadStore } from "../storage/ledger/thread-store.js";
import { TurnWriter } from "../storage/ledger/write-turns.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import type { LedgerDeps } from "./deps.js";
import { LeaseLines } from "./lease-lines.js";
import { SessionWatches } from "./session-watches.js";
import { TurnCache } from "./turn-cache.js";

export interface LedgerOptions {
  readonly database: Database;
  readonly counter: TokenCounter;
  readonly historyCacheBytes: number;
  readonly watchPollMs: number;
  /** Told when watched sessions could not be looked at; once, until they can be again. */
  readonly onWatchFailure?: (error: unknown) => void;
  /** Told when turns were written. */
  readonly onWritten?: () => void;
  readonly caches?: Caches;
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly ids?: Ids;
}

/** What the ledger's commands need, on one database. */
export function createLedger(options: LedgerOptions): LedgerDeps {
  const { watchPollMs: pollMs, onWatchFailure: onFailure = () => {}, caches = new Caches() } = options;
  const threads = new ThreadStore(options.database, caches);
  const sessions = new SessionStore(options.database);
  const watches = new SessionWatches(new HeadLog(options.database), { pollMs, onFailure });
  return {
    threads,
    sessions,
    compactions: new CompactionStore(options.database),
    writer: new TurnWriter(options.database, options.onWritten),
    cache: new TurnCache(threads, options.historyCacheBytes, caches),
    watches,
    leases: new LeaseLines(sessions, watches, options.timers ?? systemTimers),
    counter: options.counter,
    clock: options.clock ?? systemClock,
    ids: options.ids ?? systemIds,
  };
}
