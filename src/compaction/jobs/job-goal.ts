import type { CompactionSettings } from "../../capsule/context-settings.js";
import { sha256 } from "../../domain/hash.js";
import type { CompactionGoal } from "../plan/goal.js";

/** What tells one wish for a compaction from another. */
interface Wish {
  /** Who wants it: contexts of a model, role, replay mode and limit; a person; a recovery. */
  readonly of: readonly (string | number)[];
  readonly goal: Pick<CompactionGoal, "targetTokens" | "keepTurns" | "keepAtMost">;
  readonly settings: CompactionSettings;
  readonly instructions: string;
}

/**
 * Stands for what a compaction is wanted for: for the same place of a session, the same is made once. A target counts by its power of two,
 * since events and tools make it a little different each time.
 */
export function goalId({ of, goal, settings, instructions }: Wish): string {
  const { strategy, summarizers, summarizationModel, summaryTokens } = settings;
  const size = Number.isFinite(goal.targetTokens)
    ? Math.floor(Math.log2(Math.max(1, goal.targetTokens)))
    : -1;
  const { keepTurns } = goal;
  const wish = [
    of,
    size,
    keepTurns,
    strategy,
    summarizers,
    summarizationModel,
    summaryTokens ?? "",
    instructions,
  ];
  return sha256(Buffer.from(JSON.stringify(wish)))
    .toString("hex")
    .slice(0, 16);
}
