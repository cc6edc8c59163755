import type { Caches } from "../domain/caches.js";
import { type Clock, type Ids, systemClock, systemIds } from "../domain/clock.js";
import { CapsuleStore } from "../storage/capsule/capsule-store.js";
import type { Database } from "../storage/database.js";
import { CapsuleReader } from "./capsule-reader.js";
import { defaultKnobTable, type KnobTable } from "./knob-table.js";

/** What the commands of capsules work with. */
export interface CapsuleDeps {
  readonly store: CapsuleStore;
  readonly reader: CapsuleReader;
  readonly knobTable: KnobTable;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface CapsuleOptions {
  readonly database: Database;
  readonly knobTable?: KnobTable;
  readonly caches?: Caches;
  readonly clock?: Clock;
  readonly ids?: Ids;
}

/** What the commands of capsules need, on one database. */
export function createCapsules(options: CapsuleOptions): CapsuleDeps {
  const store = new CapsuleStore(options.database);
  return {
    store,
    reader: new CapsuleReader(store, options.caches),
    knobTable: options.knobTable ?? defaultKnobTable,
    clock: options.clock ?? systemClock,
    ids: options.ids ?? systemIds,
  };
}
