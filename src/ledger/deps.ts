import type { Clock, Ids } from "../domain/clock.js";
import type { CompactionStore } from "../storage/ledger/compaction-store.js";
import type { SessionStore } from "../storage/ledger/session-store.js";
import type { ThreadStore } from "../storage/ledger/thread-store.js";
import type { TurnWriter } from "../storage/ledger/write-turns.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import type { LeaseLines } from "./lease-lines.js";
import type { SessionWatches } from "./session-watches.js";
import type { TurnCache } from "./turn-cache.js";

/** What the commands of the ledger work with. */
export interface LedgerDeps {
  readonly sessions: SessionStore;
  readonly threads: ThreadStore;
  readonly compactions: CompactionStore;
  readonly writer: TurnWriter;
  readonly cache: TurnCache;
  readonly watches: SessionWatches;
  readonly leases: LeaseLines;
  readonly counter: TokenCounter;
  readonly clock: Clock;
  readonly ids: Ids;
}
