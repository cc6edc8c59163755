import type { CompactionSettings } from "../../capsule/context-settings.js";
import type { CompactionTrigger, SummarizerFailure } from "../../domain/compaction.js";
import { CompressionStrategy } from "../../domain/context-settings.js";
import { QuireError } from "../../errors/quire-error.js";
import type { EffectiveThread } from "../../ledger/effective-thread.js";
import type { CompactionOutcome } from "../../storage/ledger/compaction-store.js";
import type { CompactionRow } from "../../storage/ledger/rows.js";
import type { FoldPlan } from "../plan/fold-plan.js";
import type { CompactionGoal } from "../plan/goal.js";
import type { SummaryPrompt } from "../summarizers/prompt.js";

/** One compaction to be made. */
export interface CompactionJob {
  readonly thread: EffectiveThread;
  readonly trigger: CompactionTrigger;
  readonly goal: CompactionGoal;
  /** Stands for what it is wanted for; see `goalId`. */
  readonly goalId: string;
  /** The model whose contexts keep no more from then on: "" for all, undefined for none. */
  readonly floorModel: string | undefined;
  readonly clean: boolean;
  readonly settings: CompactionSettings;
  readonly instructions: string;
  /** Whether the caller can be asked for the summary. */
  readonly mayAskEngine: boolean;
  /** Prepared ones wait until they are needed. */
  readonly isPrepared: boolean;
  /** The model call that it is a recovery of, if it is one. */
  readonly recoveredCall?: string;
  /** How long summarizers may take together. */
  readonly limitMs: number;
}

/** What came of a job. */
export type JobOutcome =
  | { readonly kind: "done"; readonly row: CompactionRow }
  /** There is nothing that a summary could stand for. */
  | { readonly kind: "nothing" }
  | { readonly kind: "failed"; readonly reason: string; readonly failures: readonly SummarizerFailure[] }
  | { readonly kind: "needed"; readonly plan: FoldPlan; readonly prompt: SummaryPrompt }
  | { readonly kind: "recoveredBefore" };

/** A summary with who made it. */
export interface MadeSummary {
  readonly text: string;
  readonly strategy: CompressionStrategy;
  readonly summarizer: string;
  readonly provider: string;
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly durationMs: number;
  readonly failures: readonly SummarizerFailure[];
}

/** The settings for a compaction that is made whatever they say of assemblies: where those make none, it is a summary. */
export function compactingSettings(settings: CompactionSettings): CompactionSettings {
  return settings.strategy === CompressionStrategy.WINDOW
    ? { ...settings, strategy: CompressionStrategy.SUMMARY }
    : settings;
}

export function asOutcome(outcome: CompactionOutcome): JobOutcome {
  if (outcome.kind === "written") return { kind: "done", row: outcome.row };
  if (outcome.kind === "recoveredBefore") return outcome;
  if (outcome.kind === "superseded") return { kind: "done", row: outcome.row };
  return { kind: "failed", reason: "the thread changed meanwhile", failures: [] };
}

/** The row that was written, or the one that another made for the same meanwhile; an error where the thread is gone. */
export function requireWritten(outcome: CompactionOutcome): CompactionRow {
  if (outcome.kind === "written" || outcome.kind === "superseded") return outcome.row;
  throw new QuireError("COMPACTION_OUTDATED", "the thread changed while it was summarized", {
    metadata: { compaction_id: "" },
  });
}
