import type { ContextSettings } from "./context-settings.js";

export const CapsuleCause = {
  UNSPECIFIED: "CAPSULE_CAUSE_UNSPECIFIED",
  PUT: "CAPSULE_CAUSE_PUT",
  LEARNED: "CAPSULE_CAUSE_LEARNED",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type CapsuleCause = (typeof CapsuleCause)[keyof typeof CapsuleCause];

/** How a budget is divided, in the order that the lanes are shown in. */
export const lanes = ["system", "history", "memory", "tools", "buffer"] as const;
export type Lane = (typeof lanes)[number];

/** Shares of a budget, together 1. */
export type LaneShares = { readonly [Name in Lane]: number };

/** Tokens in each lane. */
export type LaneTokens = { readonly [Name in Lane]: number };

/** One version of an agent's definition. */
export interface Capsule {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly body: CapsuleBody | undefined;
  readonly hash: Buffer;
  readonly cause: CapsuleCause;
  readonly createTime: Date | undefined;
}

export interface CapsuleBody {
  readonly persona: Persona | undefined;
  readonly learned: Learned | undefined;
  readonly governance: Governance | undefined;
  readonly settings: ContextSettings | undefined;
  /** The most tokens that a context may use, where neither session nor request says. */
  readonly maxContextTokens?: number | undefined;
}

export interface Persona {
  readonly corePrompt: string;
  readonly injectionPrompts: readonly InjectionPrompt[];
  readonly knobs: Knobs | undefined;
  readonly memory: MemorySettings | undefined;
  /** All when empty. */
  /** Undefined for all of them; without names, none. */
  readonly enabledCapabilities: { readonly names: readonly string[] } | undefined;
  readonly model: ModelDefaults | undefined;
}

export interface InjectionPrompt {
  readonly trigger: string;
  readonly content: string;
}

export interface Knobs {
  readonly intelligenceLevel?: number | undefined;
  readonly autonomyLevel?: number | undefined;
  readonly resourceBudget?: number | undefined;
}

export interface MemorySettings {
  readonly recallLimit?: number | undefined;
  readonly similarityThreshold?: number | undefined;
  /** Whether the memory tools are offered. */
  readonly tools: boolean;
}

export interface ModelDefaults {
  readonly model: string;
  readonly provider: string;
  readonly temperature?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly thinking: ThinkingSettings | undefined;
}

export interface ThinkingSettings {
  readonly enabled: boolean;
  readonly budgetTokens: number;
  readonly effort: string;
}

export interface Learned {
  readonly lanePreferences: LaneShares | undefined;
  readonly outcomes: number;
}

export interface Governance {
  readonly learningAllowed: boolean;
  readonly deniedCapabilities: readonly string[];
}
