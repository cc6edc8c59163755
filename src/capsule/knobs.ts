import type { CapsuleBody, LaneShares } from "../domain/capsule.js";
import type { KnobTable } from "./knob-table.js";

export { defaultKnobTable, type KnobTable, parseKnobTable } from "./knob-table.js";

export interface ClampedKnob {
  /** By its name in the contract. */
  readonly knob: "intelligence_level" | "autonomy_level" | "resource_budget";
  readonly given: number;
  readonly used: number;
}

/** What a capsule's knobs come to. */
export interface DerivedSettings {
  readonly intelligence: number;
  readonly autonomy: number;
  readonly resourceBudget: number;
  /** The knobs that were out of range. */
  readonly clamped: readonly ClampedKnob[];
  /** What a level that is set allows; undefined: the whole window. */
  readonly contextTokens: number | undefined;
  readonly lanes: LaneShares;
  readonly lanesFrom: "learned" | "intelligence";
  readonly recallLimit: number;
  /** undefined: however unlike. */
  readonly similarityThreshold: number | undefined;
  readonly toolApproval: "all" | "dangerous" | "none";
}

const lowest = 1;
const highest = 10;

/** What the capsule says itself is stronger than what the table makes of its knobs. */
export function deriveSettings(body: CapsuleBody, table: KnobTable): DerivedSettings {
  const { knobs, memory } = body.persona ?? {};
  const clamped: ClampedKnob[] = [];
  const read = (knob: ClampedKnob["knob"], given: number | undefined): number => {
    if (given === undefined) return table.unset;
    const used = Math.min(highest, Math.max(lowest, given));
    if (used !== given) clamped.push({ knob, given, used });
    return used;
  };
  const intelligence = read("intelligence_level", knobs?.intelligenceLevel);
  const autonomy = read("autonomy_level", knobs?.autonomyLevel);
  const resourceBudget = read("resource_budget", knobs?.resourceBudget);
  const band = bandOf(table.intelligence, intelligence);
  const learned = body.learned?.lanePreferences;
  return {
    intelligence,
    autonomy,
    resourceBudget,
    clamped,
    contextTokens: knobs?.intelligenceLevel === undefined ? undefined : (band.contextTokens ?? undefined),
    lanes: learned ?? band.lanes,
    lanesFrom: learned ? "learned" : "intelligence",
    recallLimit: memory?.recallLimit ?? band.recallLimit,
    similarityThreshold: memory?.similarityThreshold,
    toolApproval: bandOf(table.autonomy, autonomy).toolApproval,
  };
}

/** The table's bands end at 10, so every level has one. */
function bandOf<Band extends { readonly upTo: number }>(bands: readonly Band[], level: number): Band {
  return bands.find((band) => level <= band.upTo) ?? bands.at(-1)!;
}
