import { LRUCache } from "lru-cache";
import {
  type Calibration,
  cataloguePrior,
  observedRatio,
  type Prior,
  type ReportedUsage,
  sharedPrior,
} from "../budget/calibration.js";
import { type Catalogue, type FoundModel, findModel } from "../budget/catalogue.js";
import { scaleOf, type TokenScale } from "../budget/token-scale.js";
import { type Clock, toMicroseconds } from "../domain/clock.js";
import type { CalibrationKey, CalibrationStore } from "../storage/assembly/calibration-store.js";
import { CalibrationState, type CalibrationWrite } from "./calibration-state.js";

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
  reading: Promise<void> | undefined;
}

/** The tenant under which all tenants are calibrated together. */
const everyone = "";
const readAgainAfterMs = 5_000;
const writeAfterMs = 1_000;
/** So many calibrations are written in one transaction: it holds up the writers of turns. */
const writeAtOnce = 16;
const maxEntries = 10_000;

/**
 * Learns from reported usage how many tokens models make. A tenant's own evidence comes first, then that of all tenants
 * together, then the catalogue's word. Reads from memory, which is refreshed behind the reader's back; writes behind. A crash
 * loses the last second of observations; a database that does not answer costs precision, never a call.
 */
export class Calibrator {
  private readonly entries = new LRUCache<string, Entry>({ max: maxEntries });
  /** Entries with something to write: they must not be forgotten. */
  private readonly unwritten = new Map<string, Entry>();
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: CalibrationStore,
    private readonly catalogue: Catalogue,
    private readonly clock: Clock,
    private readonly onError: (error: unknown) => void,
  ) {}

  async scaleFor(tenantId: string, model: FoundModel): Promise<CalibratedScale> {
    const plain = { ...scaleOf(model.entry), version: 0, evidence: 0 };
    if (plain.exact || model.name === "") return plain;
    const own = this.entry(tenantId, model.name);
    const isFirst = own.readAtMs === Number.NEGATIVE_INFINITY;
    const isOld = this.clock.now() - own.readAtMs >= readAgainAfterMs;
    const reading = own.reading ?? (isOld ? this.read(own) : undefined);
    if (isFirst || (own.reading && !own.state.current)) await reading;
    for (const { current } of [own.state, this.entry(everyone, model.name).state]) {
      if (!current || current.version === 0) continue;
      const { ratio, margin, version, evidence } = current;
      return { exact: false, ratio, margin, version, evidence };
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
      if (this.unwritten.size >= maxEntries && !this.unwritten.has(key)) continue;
      const observed = this.entry(id, name);
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
}
