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
import type { OfferedSource, SourceOffer, SourceProvider } from "./source.js";
import { SourceCalls } from "./source-calls.js";

/** What assemblies ask, what it takes to ask it, and what the commands on sources work with. */
export interface SourceDeps {
  readonly providers: readonly SourceProvider[];
  readonly calls: SourceCalls;
  readonly store: SourceStore;
  readonly plugIns: PlugIns;
  readonly outcomes: OutcomeCounter;
  /** Besides what SourceService writes and registers: recall, and what the engine was given. */
  readonly others: readonly SourceOffer[];
  readonly clock: Clock;
  readonly timers: Timers;
}

export interface SourceOptions {
  readonly database: Database;
  /** Besides those that are built in. */
  readonly given?: readonly OfferedSource[];
  /** Others that know sources of their own. */
  readonly providers?: readonly SourceOffer[];
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
  const others = [{ offered: given, active: async () => given }, ...(options.providers ?? [])];
  const knowledge = new Knowledge(store, outcomes, options.rankTexts, caches);
  const providers = [new KnownSources(knowledge, store, plugIns, others, caches)];
  const calls = new SourceCalls(clock, caches, onFailure);
  return { providers, calls, store, plugIns, outcomes, others, clock, timers };
}
