/** What a model makes of an o200k token, learnt from what providers reported. */
export interface Calibration {
  /** Grows whenever ratio or margin changed noticeably; 0 as long as they are the prior's. */
  readonly version: number;
  readonly ratio: number;
  /** How much more than the estimate the provider may count, as a share of it. */
  readonly margin: number;
  /** How many usages there were, ever; ratio and margin come from the latest of them. */
  readonly evidence: number;
  /** The latest ones, each as reported tokens for an o200k token, oldest first. */
  readonly observations: readonly number[];
}

/** What holds as long as there is too little evidence. */
export interface Prior {
  readonly ratio: number;
  readonly margin: number;
  readonly version: number;
  /** The catalogue's ratio: no evidence leads farther from it than the bounds. */
  readonly anchor: number;
}

export interface ReportedUsage {
  /** The o200k tokens of the context that was sent. */
  readonly countedTokens: number;
  /** What the provider said it was. */
  readonly inputTokens: number;
}

export const keptObservations = 128;
/** Among fewer, an outlier could not be told from the others. */
export const leastEvidence = 5;
/** In a small context, what the provider adds by itself weighs more than its tokenizer. */
export const leastCountedTokens = 200;
export const ratioBounds = { low: 0.4, high: 2.5 } as const;
export const leastMargin = 0.02;
export const mostMargin = 0.5;

/** What the catalogue's margin must be at least while it stands for the noise that was not seen yet. */
const unseenMargin = 0.15;
/** The prior's noise counts as much as so many observations. */
const priorWeight = 4;
/** Of normal noise, one in 20,000 lies above so many deviations. */
const tailDeviations = 3.9;
/** Added for what few observations do not tell of center and deviation; divided by their root. */
const doubtDeviations = 5;
/** Whatever lies so near to the median is noise, however still the others are. In logarithms, as all below. */
const alwaysNoise = 0.15;
const outlierDeviations = 6;
const deviationsOfMad = 1.4826;
const noticeableChange = 0.005;
const noticeableMarginShare = 0.1;
const largestCount = 2 ** 31 - 1;

export function cataloguePrior({
  ratio,
  margin,
}: {
  readonly ratio: number;
  readonly margin: number;
}): Prior {
  return { ratio, margin, version: 0, anchor: ratio };
}

/** The prior with what is known of a wider group in place of the catalogue's word, once there is such knowledge. */
export function sharedPrior(catalogue: Prior, shared: Calibration | undefined): Prior {
  if (!shared || shared.version === 0) return catalogue;
  const { ratio, margin, version } = shared;
  return { ratio, margin, version, anchor: catalogue.anchor };
}

/** Reported tokens for an o200k token; nothing where the usage says nothing about it. */
export function observedRatio({ countedTokens, inputTokens }: ReportedUsage): number | undefined {
  if (!(countedTokens >= leastCountedTokens) || !(inputTokens > 0)) return undefined;
  const ratio = inputTokens / countedTokens;
  // Six digits are what is stored: a calibration is the same after it was read again.
  return Number.isFinite(ratio) && ratio > 0 ? Number(ratio.toPrecision(6)) : undefined;
}

/** A calibration with one more observation. The same observations in the same order give the same calibration. */
export function calibrate(prior: Prior, before: Calibration | undefined, observation: number): Calibration {
  const observations = [...(before?.observations ?? []), observation].slice(-keptObservations);
  const evidence = Math.min((before?.evidence ?? 0) + 1, largestCount);
  const current = before ?? { ratio: prior.ratio, margin: prior.margin, version: 0 };
  const estimate = estimateOf(prior, observations);
  if (!estimate || (current.version > 0 && !isNoticeable(current, estimate))) {
    const { ratio, margin, version } = current;
    return { version, ratio, margin, evidence, observations };
  }
  // The prior's versions were in use until now: the first own one comes after them.
  const version = Math.min(Math.max(current.version, prior.version) + 1, largestCount);
  return { version, ...estimate, evidence, observations };
}

interface Estimate {
  readonly ratio: number;
  readonly margin: number;
}

function isNoticeable(current: Estimate, next: Estimate): boolean {
  const marginChange = Math.abs(next.margin - current.margin);
  return (
    Math.abs(Math.log(next.ratio / current.ratio)) >= noticeableChange ||
    marginChange >= Math.max(noticeableChange, noticeableMarginShare * current.margin)
  );
}

/**
 * Median and MAD of the logarithms say which observations are outliers; the mean of the others is the center, which
 * needs fewer of them than the median for the same precision.
 */
function estimateOf(prior: Prior, observations: readonly number[]): Estimate | undefined {
  if (observations.length < leastEvidence) return undefined;
  const logs = new Float64Array(observations).map(Math.log).sort();
  const middle = median(logs);
  const deviation = deviationsOfMad * median(logs.map((log) => Math.abs(log - middle)).sort());
  const reach = Math.max(outlierDeviations * deviation, alwaysNoise);
  // At least half of them: the reach is more than the median distance.
  const usual = logs.filter((log) => Math.abs(log - middle) <= reach);
  const mean = usual.reduce((sum, log) => sum + log, 0) / usual.length;
  const center = clamp(
    mean,
    Math.log(prior.anchor * ratioBounds.low),
    Math.log(prior.anchor * ratioBounds.high),
  );
  return { ratio: Math.exp(center), margin: marginOf(prior, logs, usual, center) };
}

/** How far above the center a usage may come, judged by those that did. */
function marginOf(prior: Prior, logs: Float64Array, usual: Float64Array, center: number): number {
  const priorMargin = prior.version > 0 ? prior.margin : Math.max(prior.margin, unseenMargin);
  const unseen = Math.log(1 + priorMargin) / deviationsNeeded(leastEvidence);
  const squares = usual.reduce((sum, log) => sum + (log - center) ** 2, 0);
  const deviation = Math.sqrt((priorWeight * unseen ** 2 + squares) / (priorWeight + usual.length - 1));
  const needed = Math.max(
    deviation * deviationsNeeded(usual.length),
    // Tails may be heavier than normal ones.
    usual.at(-1)! - center + deviation / 2,
    // What one in ten exceeds is no outlier.
    logs[Math.floor(0.9 * (logs.length - 1))]! - center,
  );
  return clamp(Math.exp(needed) - 1, leastMargin, Math.max(mostMargin, prior.margin));
}

function deviationsNeeded(observations: number): number {
  return tailDeviations + doubtDeviations / Math.sqrt(observations);
}

function median(sorted: Float64Array): number {
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
