import type { SourceRules } from "../rules.js";
import type { SourceAnswer, SourceView } from "../source.js";
import type { Knowledge, KnowledgeOf } from "./knowledge.js";

/** A source that is part of the server: what it is made from, and how it says it. */
export interface BuiltIn {
  readonly name: string;
  /** There is something to say only if there is any of these kinds. */
  readonly kinds: readonly string[];
  readonly defaults: SourceRules;
  answer(known: Knowledge, of: KnowledgeOf, view: SourceView, rules: SourceRules): Promise<SourceAnswer>;
}
