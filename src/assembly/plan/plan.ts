import { type BudgetLimits, budgetLimits, type LanePlan, planLanes } from "../../budget/limits.js";
import { memoryReserve } from "../../budget/memory-reserve.js";
import { type ModelTokens, modelTokens } from "../../domain/token-units.js";
import { QuireError } from "../../errors/quire-error.js";
import type { ResolvedContext } from "../resolve/resolve.js";

/** What of a resolved request it needs. */
export type PlanInput = Pick<
  ResolvedContext,
  "derived" | "model" | "modelName" | "request" | "settings" | "settled"
> &
  Partial<Pick<ResolvedContext, "reportedLimit">>;

/** What the context may use, and how it is divided. */
export interface ContextPlan {
  readonly limits: BudgetLimits;
  readonly lanes: LanePlan;
  /** What history leaves free for memory. */
  readonly memoryReserve: ModelTokens;
  /** What memory may use of what is left. */
  readonly memoryLane: ModelTokens;
  /** What history may use at the most, if a setting says so. */
  readonly historyCap: ModelTokens | undefined;
}

export function plan(resolved: PlanInput): ContextPlan {
  const { settings, model, derived, request } = resolved;
  const named = settings.modelLimits.get(model.name) ?? settings.modelLimits.get(resolved.modelName);
  const own = { ...settings.defaultLimits, ...named };
  const limits = budgetLimits({
    contextTokens: Math.min(
      own.maxTokens ?? model.entry.contextTokens,
      resolved.reportedLimit ?? Number.POSITIVE_INFINITY,
    ),
    inputTokens: own.maxTokens === undefined ? model.entry.inputTokens : undefined,
    reserveResponse:
      own.reserveResponseTokens ??
      (settings.isReserveSet.response ? settings.reserveResponseTokens : undefined),
    reserveTools: settings.isReserveSet.tool ? settings.reserveToolTokens : undefined,
    knobTokens: derived.contextTokens,
    requestTokens: request.maxContextTokens,
  });
  if (limits.available === 0) {
    throw new QuireError("CONTEXT_TOO_LARGE", "the reserves leave nothing of the window for a context", {
      metadata: {
        available: "0",
        model_limit: String(limits.modelLimit),
        reserve_response: String(limits.reserveResponse),
        reserve_tools: String(limits.reserveTools),
      },
    });
  }
  const lanes = planLanes(derived.lanes, limits.available);
  const { memoryTokens, historyTokens } = own;
  const unlimited = modelTokens(Number.POSITIVE_INFINITY);
  const reserve = memoryReserve({
    set: memoryTokens,
    laneTokens: lanes.memory,
    recallLimitTokens: unlimited,
    recallableTokens: modelTokens(0),
  });
  return {
    limits,
    lanes,
    memoryReserve: memoryTokens === undefined ? (resolved.settled?.memoryReserve ?? reserve) : reserve,
    memoryLane: memoryTokens === undefined ? lanes.memory : modelTokens(memoryTokens),
    historyCap: historyTokens === undefined ? undefined : modelTokens(historyTokens),
  };
}
