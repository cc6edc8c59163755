import type { CutState } from "../../contract/gen/quire/v1/assembly.js";
import type { CachePlan, PrefixState } from "../../contract/gen/quire/v1/prompt_cache.js";
import type { Stages } from "../plan/budget-use.js";
import type { Prefix } from "../prefix/prefix.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import { type CacheDeps, contextDifference } from "./difference.js";
import { predictCache } from "./predict-cache.js";

/** What of a resolved request it needs. */
export type CacheInput = Pick<
  ResolvedContext,
  "model" | "nowMs" | "pin" | "request" | "scale" | "settled" | "tenantId" | "thread"
>;

/** What the provider's prompt cache will do, and why the context begins as it does. */
export interface CacheStage {
  readonly plan: CachePlan;
  readonly prefix: PrefixState;
}

export async function planCaching(
  deps: CacheDeps,
  resolved: CacheInput,
  stages: Stages,
  { pinned, cause, told, toldTokens, toldTurnId }: Prefix,
  { compactionId }: Pick<CutState, "compactionId">,
): Promise<CacheStage> {
  const found = await contextDifference(deps, resolved, stages);
  const { firstDifference, difference, previousAssemblyId } = found;
  return {
    plan: predictCache(resolved, stages, found),
    prefix: {
      pinned,
      cause,
      updates: told,
      toldTokens,
      toldTurnId,
      firstDifference,
      difference,
      previousAssemblyId,
      // What was settled before counts until the next context; what was chosen now goes with the cut of now.
      scaledUnderCompactionId: resolved.settled ? (resolved.thread.compaction?.id ?? "") : compactionId,
    },
  };
}
