import type { Caches } from "../domain/caches.js";
import { type Clock, type Ids, systemClock, systemIds } from "../domain/clock.js";
import type { Database } from "../storage/database.js";
import { WorkspaceStore } from "../storage/workspace/workspace-store.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { WorkspaceReader } from "./workspace-reader.js";

/** What the commands on workspaces work with. */
export interface WorkspaceDeps {
  readonly store: WorkspaceStore;
  readonly reader: WorkspaceReader;
  readonly counter: TokenCounter;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface WorkspaceOptions {
  readonly database: Database;
  readonly counter: TokenCounter;
  readonly caches?: Caches;
  readonly clock?: Clock;
  readonly ids?: Ids;
}

/** What the commands on workspaces need, on one database. */
export function createWorkspaces(options: WorkspaceOptions): WorkspaceDeps {
  const store = new WorkspaceStore(options.database);
  return {
    store,
    reader: new WorkspaceReader(store, options.caches),
    counter: options.counter,
    clock: options.clock ?? systemClock,
    ids: options.ids ?? systemIds,
  };
}
