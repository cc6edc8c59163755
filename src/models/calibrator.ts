import type { BoundedCache, MemoryUse } from "../domain/bounded-cache.js";
import { Caches } from "../domain/caches.js";
import { type Clock, toMicroseconds } from "../domain/clock.js";
import { megabyte, textBytes } from "../domain/memory-size.js";
import type { Soon } from "../domain/soon.js";
import type { CalibrationKey, CalibrationStore } from "../storage/assembly/calibration-store.js";
import {
  type Calibration,
  cataloguePrior,
  keptObservations,
  observedRatio,
  type Prior,
  type ReportedUsage,
  sharedPrior,
} from "./calibration.js";
import { CalibrationState, type MergeCalibration } from "./calibration-state.js";
import { type Catalogue, type FoundModel, findModel, type ModelEntry } from "./catalogue.js";
import { scaleOf, type TokenScale } from "./token-scale.js";

/** How o200k counts become a model's tokens, and where that is known from. */
export type CalibratedScale = TokenScale & {
  /** 0 when it is the catalogue's. */
  readonly version: number;
  readonly evidence: number;
};

interface Entry extends CalibrationKey {
  readonly state: CalibrationState;
  /** When it was last read, or tried to. */
  readAtMs: number;
  firstRead: Promise<void> | undefined;
  isBeingRead: boolean;
}

/** The tenant under which all tenants are calibrated together. */
const everyone = "";
const readAgainAfterMs = 5_000;
const writeAfterMs = 1_000;
/** So many calibrations are written in one transaction: it holds up the writers of turns. */
const writeAtOnce = 16;
const maxBytes = 8 * megabyte;
/** Observations that wait, that are being written, and that are known: three lists of as many at most. */
const stateBytes = 1_024 + 3 * 8 * keptObservations;

/**
 * Learns from reported usage how many tokens models make. A tenant's own evidence comes first, then that of all tenants
 * together, then the catalogue's word. Reads from memory, which is refreshed behind the reader's back; writes behind. A crash
 * loses the last second of observations; a database that does not answer costs precision, never a call. What it cannot take
 * waits, within a bound; beyond that nothing new is learnt.
 */
export class Calibrator implements MemoryUse {
  readonly name = "calibrations to be written";
  readonly maxBytes: number;
  private readonly known: BoundedCache<Entry>;
  /** Entries with something to write: they must not be forgotten. */
  private readonly unwritten = new Map<string, Entry>();
  private unwrittenBytes = 0;
  private readonly reads = new Set<Promise<void>>();
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: CalibrationStore,
    private readonly catalogue: Catalogue,
    private readonly clock: Clock,
    private readonly onError: (error: unknown) => void,
    caches = new Caches(),
  ) {
    this.maxBytes = caches.bound(maxBytes);
    this.known = caches.create<Entry>("calibrations", maxBytes, entryBytes);
    caches.add(this);
  }

  get bytes(): number {
    return this.unwrittenBytes;
  }

  get entries(): number {
    return this.unwritten.size;
  }

  scaleFor(tenantId: string, model: FoundModel): Soon<CalibratedScale> {
    const plain = plainScale(model.entry);
    return plain.exact || model.name === "" ? plain : this.learnedScale(tenantId, model, plain);
  }

  private async learnedScale(
    tenantId: string,
    model: FoundModel,
    plain: CalibratedScale,
  ): Promise<CalibratedScale> {
    const own = this.entry(tenantId, model.name);
    if (!own.isBeingRead && this.clock.now() - own.readAtMs >= readAgainAfterMs) {
      const reading = this.read(own);
      own.firstRead ??= reading;
    }
    await own.firstRead;
    for (const { current } of [own.state, this.entry(everyone, model.name).state]) {
      if (!current || current.version === 0) continue;
      const { ratio, margin, version, evidence } = current;
      return { ...plain, ratio, margin, version, evidence };
    }
    return plain;
  }

  /** Learns from a usage. What says nothing is passed over: small contexts, and models whose tokens are counted exactly. */
  observe(tenantId: string, modelName: string, usage: ReportedUsage): void {
    const { name, entry } = findModel(this.catalogue, modelName);
    const observation = observedRatio(usage);
    if (name === "" || entry.vocabulary || observation === undefined) return;
    for (const id of [tenantId, everyone]) {
      const key = keyOf(id, name);
      const observed = this.entry(id, name);
      if (!this.unwritten.has(key)) {
        if (this.unwrittenBytes + entryBytes(observed) > this.maxBytes) continue;
        this.unwrittenBytes += entryBytes(observed);
      }
      observed.state.observe(this.priorOf(observed), observation);
      this.unwritten.set(key, observed);
    }
    this.timer ??= setTimeout(() => this.flush(), writeAfterMs);
  }

  /** The models that a tenant has evidence of. */
  async modelsOf(tenantId: string): Promise<readonly string[]> {
    const waiting = [...this.unwritten.values()].filter((entry) => entry.tenantId === tenantId);
    try {
      const stored = await this.store.list(tenantId);
      return [...new Set([...stored, ...waiting].map(({ model }) => model))];
    } catch (error) {
      this.onError(error);
      return waiting.map(({ model }) => model);
    }
  }

  /** Writes what waits. Resolves when all that was observed before is stored, or could not be. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.flushing = this.flushing.then(() => this.writeAll());
    return this.flushing;
  }

  private entry(tenantId: string, model: string): Entry {
    const key = keyOf(tenantId, model);
    const known = this.unwritten.get(key) ?? this.known.get(key);
    if (known) return known;
    const state = new CalibrationState();
    const made: Entry = {
      ...{ tenantId, model, state },
      readAtMs: Number.NEGATIVE_INFINITY,
      firstRead: undefined,
      isBeingRead: false,
    };
    this.known.set(key, made);
    return made;
  }

  private priorOf({ tenantId, model }: CalibrationKey): Prior {
    const catalogue = cataloguePrior(findModel(this.catalogue, model).entry);
    return tenantId === everyone
      ? catalogue
      : sharedPrior(catalogue, this.entry(everyone, model).state.current);
  }

  private read(own: Entry): Promise<void> {
    own.readAtMs = this.clock.now();
    own.isBeingRead = true;
    const reading = this.store
      .find(own.tenantId, own.model)
      .then((found) => {
        const shared = this.entry(everyone, own.model);
        shared.state.read(this.priorOf(shared), found.shared);
        own.state.read(this.priorOf(own), found.own);
      })
      .catch(this.onError)
      .finally(() => {
        own.isBeingRead = false;
        this.reads.delete(reading);
      });
    this.reads.add(reading);
    return reading;
  }

  private async writeAll(): Promise<void> {
    const entries = [...this.unwritten.entries()];
    for (let at = 0; at < entries.length; at += writeAtOnce)
      await this.write(new Map(entries.slice(at, at + writeAtOnce)));
    // Whoever closes the database next finds nobody reading it.
    await Promise.all(this.reads);
  }

  /** What cannot be written waits for the next flush, which the next observation brings. */
  private async write(entries: ReadonlyMap<string, Entry>): Promise<void> {
    const merges = new Map<string, MergeCalibration>();
    for (const [key, { state }] of entries) merges.set(key, state.startWrite());
    const written = new Map<string, Calibration>();
    try {
      await this.store.save([...entries.values()], toMicroseconds(this.clock.now()), (target, stored) => {
        const key = keyOf(target.tenantId, target.model);
        const merged = merges.get(key)!(this.priorOf(target), stored);
        written.set(key, merged);
        return merged;
      });
    } catch (error) {
      for (const { state } of entries.values()) state.failed();
      this.onError(error);
      return;
    }
    for (const [key, entry] of entries) {
      entry.state.wrote(this.priorOf(entry), written.get(key)!);
      this.known.set(key, entry);
      if (entry.state.isWaiting || !this.unwritten.delete(key)) continue;
      this.unwrittenBytes -= entryBytes(entry);
    }
  }
}

const plainScales = new WeakMap<ModelEntry, CalibratedScale>();

/** What the catalogue says, where nothing was learned. */
function plainScale(entry: ModelEntry): CalibratedScale {
  let scale = plainScales.get(entry);
  if (!scale) {
    scale = { ...scaleOf(entry), version: 0, evidence: 0 };
    plainScales.set(entry, scale);
  }
  return scale;
}

function entryBytes({ tenantId, model }: Entry): number {
  return stateBytes + 2 * (textBytes(tenantId) + textBytes(model));
}

function keyOf(tenantId: string, model: string): string {
  return JSON.stringify([tenantId, model]);
}
