import { type Calibration, calibrate, keptObservations, type Prior } from "./calibration.js";

/** What is to be stored in place of what is. May be asked more than once. */
export type MergeCalibration = (prior: Prior, stored: Calibration | undefined) => Calibration;

/**
 * One calibration in memory: what is stored, and what was observed since. An observation counts at once; when another
 * server wrote meanwhile, it is laid on top of what that one wrote.
 */
export class CalibrationState {
  private latest: Calibration | undefined;
  /** What `latest` is built on. */
  private stored: Calibration | undefined;
  private writing: readonly number[] = [];
  private waiting: readonly number[] = [];
  /** What was to be written, if nobody else wrote. */
  private offered: Calibration | undefined;

  get current(): Calibration | undefined {
    return this.latest;
  }

  get isWaiting(): boolean {
    return this.waiting.length > 0;
  }

  observe(prior: Prior, observation: number): void {
    this.latest = calibrate(prior, this.latest, observation);
    this.waiting = [...this.waiting, observation].slice(-keptObservations);
  }

  /** Takes what was read. What was read before a write of this server ended is older than what it knows, and passed over. */
  read(prior: Prior, stored: Calibration | undefined): void {
    if (this.writing.length > 0 || (stored?.evidence ?? 0) < (this.stored?.evidence ?? 0)) return;
    if (isSame(stored, this.stored)) return;
    this.latest = rebuilt(prior, stored, this.waiting, this.latest);
    this.stored = stored;
  }

  /** Takes what waits into a write, which `wrote` or `failed` ends. What is observed from now on waits for the next one. */
  startWrite(): MergeCalibration {
    const { latest, stored: known, waiting } = this;
    this.writing = waiting;
    this.waiting = [];
    this.offered = latest;
    return (prior, stored) =>
      latest && isSame(stored, known) ? latest : rebuilt(prior, stored, waiting, latest)!;
  }

  wrote(prior: Prior, written: Calibration): void {
    this.writing = [];
    this.stored = written;
    if (written !== this.offered) this.latest = rebuilt(prior, written, this.waiting, this.latest);
  }

  failed(): void {
    this.waiting = [...this.writing, ...this.waiting].slice(-keptObservations);
    this.writing = [];
  }
}

/** Observations on top of what is stored. If that is not what is in use, it gets a version that was not in use here. */
function rebuilt(
  prior: Prior,
  stored: Calibration | undefined,
  observations: readonly number[],
  inUse: Calibration | undefined,
): Calibration | undefined {
  let built = stored;
  for (const observation of observations) built = calibrate(prior, built, observation);
  if (!built || !inUse || built.version === 0 || built.version > inUse.version) return built;
  const isInUse = built.ratio === inUse.ratio && built.margin === inUse.margin;
  return { ...built, version: isInUse ? inUse.version : inUse.version + 1 };
}

function isSame(a: Calibration | undefined, b: Calibration | undefined): boolean {
  return a?.version === b?.version && a?.evidence === b?.evidence;
}
