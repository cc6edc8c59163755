import { buildCurrent, type CurrentStage, type EventDeps } from "../event/current-message.js";
import type { ContextPlan } from "../plan/plan.js";
import type { CarriedPrefix } from "../prefix/propose-prefix.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import type { ToolsStage } from "../tools/tools.js";
import { buildHistory, type HistoryDeps, type HistoryStage } from "./history.js";
import { type HistoryState, type ReadHistoryInput, readHistory } from "./read-history.js";

/** What of a resolved request it needs. */
export type TrialInput = ReadHistoryInput &
  Pick<ResolvedContext, "activity" | "blocks" | "capsule" | "templates" | "tenantId">;

/** The current message and history as they come out beside a system prompt that may stay. If it does, they are what is sent. */
export interface HistoryTrial {
  readonly current: CurrentStage;
  readonly state: HistoryState;
  /** Undefined where history is to be compacted first. */
  readonly history: HistoryStage | undefined;
}

/** Writes nothing. */
export async function tryHistory(
  deps: EventDeps & HistoryDeps,
  resolved: TrialInput,
  plan: ContextPlan,
  tools: ToolsStage,
  { pinned, updates }: CarriedPrefix,
  signal?: AbortSignal,
): Promise<HistoryTrial> {
  const current = await buildCurrent(deps, resolved, plan, updates, pinned.injected);
  const others = { system: pinned.tokens, tools: tools.tokens, event: current.tokens };
  const state = await readHistory(deps, resolved, plan, others, signal);
  // A cut that moves loses the cache in any case.
  const isMoved = (state.thread.compaction?.id ?? "") !== (resolved.thread.compaction?.id ?? "");
  const history =
    state.job || isMoved ? undefined : await buildHistory(deps, resolved, plan, others, state.window);
  return { current, state, history };
}
