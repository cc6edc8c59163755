import { Caches } from "../domain/caches.js";
import { type Clock, systemClock, systemTimers, type Timers } from "../domain/clock.js";
import type { Database } from "../storage/database.js";
import { SourceStore } from "../storage/source/source-store.js";
import { Knowledge } from "./builtin/knowledge.js";
import { KnownSources } from "./known-sources.js";
import { OutcomeCounter } from "./outcome-counter.js";
import type { RankTexts } from "./rank-texts.js";
import { AllowedAddresses } from "./remote/allowed-addresses.js";
import { PlugIns } from "./remote/plug-ins.js";
import type { OfferedSource, SourceProvider } from "./source.js";
import { SourceCalls } from "./source-calls.js";

/** What assemblies ask, what it takes to ask it, and what the commands on sources work with. */
export interface SourceDeps {
  readonly providers: readonly SourceProvider[];
  readonly calls: SourceCalls;
  readonly store: SourceStore;
  readonly plugIns: PlugIns;
  readonly outcomes: OutcomeCounter;
  /** Sources that the engine was given. */
  readonly given: readonly OfferedSource[];
  readonly clock: Clock;
  readonly timers: Timers;
}

export interface SourceOptions {
  readonly database: Database;
  /** Besides those that are built in. */
  readonly given?: readonly OfferedSource[];
  /** Others that know sources of their own. */
  readonly providers?: readonly SourceProvider[];
  /** What is relevant to an event, of what sources know. */
  readonly rankTexts: RankTexts;
  /** Where plug-ins may be. */
  readonly addresses?: readonly string[];
  readonly caches?: Caches;
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly onFailure?: (source: string, error: unknown) => void;
}

export function createSources(options: SourceOptions): SourceDeps {
  const { database, given = [], addresses = [], caches = new Caches() } = options;
  const { clock = systemClock, timers = systemTimers, onFailure = () => undefined } = options;
  const store = new SourceStore(database);
  const plugIns = new PlugIns(new AllowedAddresses(addresses), caches);
  const outcomes = new OutcomeCounter(store, (error) => onFailure("self_model", error));
  const known = new KnownSources(
    new Knowledge(store, outcomes, options.rankTexts, caches),
    store,
    plugIns,
    caches,
  );
  const offering = given.length > 0 ? [{ active: async () => given }] : [];
  const providers = [...offering, known, ...(options.providers ?? [])];
  const calls = new SourceCalls(clock, caches, onFailure);
  return { providers, calls, store, plugIns, outcomes, given, clock, timers };
}
