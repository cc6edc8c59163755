import type { CachePlan, PrefixState } from "../contract/gen/quire/v1/prompt_cache.js";
import type { Stages } from "./budget-use.js";
import type { AssemblyDeps } from "./deps.js";
import { predictCache } from "./predict-cache.js";
import { contextDifference } from "./prefix/difference.js";
import type { Prefix } from "./prefix/settle-prefix.js";
import type { ResolvedContext } from "./resolve.js";

/** What the provider's prompt cache will do, and why the context begins as it does. */
export interface CacheStage {
  readonly plan: CachePlan;
  readonly prefix: PrefixState;
}

export async function planCaching(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  stages: Stages,
  { pinned, cause, told, toldTokens, toldTurnId }: Prefix,
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
      scaledUnderCompactionId: resolved.thread.compaction?.id ?? "",
    },
  };
}
