import type { ContextCandidate, InputHash } from "../../contract/gen/quire/v1/assembly.js";
import type { SourceReport } from "../../contract/gen/quire/v1/source.js";
import type { ModelTokens } from "../../domain/token-units.js";
import type { AskedSource } from "../../sources/asked-source.js";
import type { ExampleMessage, SourceBlock } from "../../sources/source.js";

/** A block of a source as a context would show it. */
export interface GatheredBlock {
  readonly source: string;
  readonly title: string;
  /** Frame included. */
  readonly text: string;
  readonly content: string;
  /** What stands around the content, which no cut takes away. */
  readonly frame: SourceBlock["frame"];
  /** Whether it is shown whole or not at all. */
  readonly isWhole: boolean;
  readonly messages: readonly ExampleMessage[];
  readonly tokens: ModelTokens;
  readonly priority: number;
  readonly detail: string;
}

/** A source that was asked, with what of its answer may be shown, and what may not. */
export interface GatheredSource {
  readonly asked: AskedSource;
  readonly report: SourceReport;
  readonly blocks: readonly GatheredBlock[];
  /** What was left out before there was any question of room. */
  readonly dropped: readonly ContextCandidate[];
  readonly input: InputHash | undefined;
}

/** What stands before history: sections of the system prompt, and examples after it. */
export interface Ahead {
  readonly sections: readonly { readonly name: string; readonly text: string }[];
  readonly examples: readonly ExampleMessage[];
}

export const nothingAhead: Ahead = { sections: [], examples: [] };

/** Where there is no source to ask. */
export const notGathering = { ahead: nothingAhead, gathering: undefined } as const;

/** All that came of sources, by their place. */
export interface GatherStage {
  readonly sources: readonly GatheredSource[];
  readonly reports: readonly SourceReport[];
  readonly candidates: readonly ContextCandidate[];
  readonly inputs: readonly InputHash[];
}

export const nothingGathered: GatherStage = { sources: [], reports: [], candidates: [], inputs: [] };

/** What sections of the system prompt are called that are sources. */
const sectionPrefix = "source ";

export function sourceSection(name: string): string {
  return `${sectionPrefix}${name}`;
}

export function isSourceSection(name: string): boolean {
  return name.startsWith(sectionPrefix);
}
