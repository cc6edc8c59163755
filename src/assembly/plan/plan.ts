import { type BudgetLimits, budgetLimits, type LanePlan, planLanes } from "../../budget/limits.js";
import { memoryReserve } from "../../budget/memory-reserve.js";
import { BudgetBound } from "../../contract/gen/quire/v1/assembly.js";
import { SourcePosition } from "../../domain/source.js";
import { least, type ModelTokens, modelTokens, sumOf } from "../../domain/token-units.js";
import { type Warning, WarningKind, warning } from "../../domain/warning.js";
import { QuireError } from "../../errors/quire-error.js";
import { mostTokens } from "../../sources/rules.js";
import type { ActiveSource } from "../../sources/source.js";
import { type AskedLimit, askedLimit } from "../resolve/asked-limit.js";
import type { ResolvedContext } from "../resolve/resolve.js";

/** What of a resolved request it needs. */
export type PlanInput = Pick<
  ResolvedContext,
  "capsule" | "derived" | "model" | "modelName" | "request" | "settings" | "settled" | "sources"
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
  /** What decided how much is available. */
  readonly availableBy: BudgetBound;
  readonly warnings: readonly Warning[];
}

export function plan(resolved: PlanInput): ContextPlan {
  const { settings, model, derived } = resolved;
  const named = settings.modelLimits.get(model.name) ?? settings.modelLimits.get(resolved.modelName);
  const own = { ...settings.defaultLimits, ...named };
  const asked = askedLimit(resolved);
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
    askedTokens: asked?.tokens,
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
  const reserve = memoryReserve({
    set: memoryTokens,
    laneTokens: lanes.memory,
    ...sourceTokens(resolved, limits.available),
  });
  return {
    limits,
    lanes,
    memoryReserve: memoryTokens === undefined ? (resolved.settled?.memoryReserve ?? reserve) : reserve,
    memoryLane: memoryTokens === undefined ? lanes.memory : modelTokens(memoryTokens),
    historyCap: historyTokens === undefined ? undefined : modelTokens(historyTokens),
    availableBy: limits.bound === "asked" ? asked!.by : bounds[limits.bound],
    warnings: asked && limits.bound === "knobs" ? [capped(resolved, limits.available, asked)] : [],
  };
}

/** The most that sources may put into the current message, and what they can. What they answer has no say in where history is cut. */
function sourceTokens({ sources }: PlanInput, available: number) {
  const inCurrent = sources.filter(
    ({ source, rules }) => source.isAfterHistory || rules.position === SourcePosition.CURRENT,
  );
  const limitOf = ({ rules }: ActiveSource) => modelTokens(mostTokens(rules, available));
  return {
    recallLimitTokens: sumOf(inCurrent, limitOf),
    recallableTokens: sumOf(inCurrent, (one) =>
      least(limitOf(one), modelTokens(one.knownTokens ?? Number.POSITIVE_INFINITY)),
    ),
  };
}

const bounds = {
  window: BudgetBound.WINDOW,
  input: BudgetBound.INPUT_LIMIT,
  knobs: BudgetBound.INTELLIGENCE_LEVEL,
} as const;

function capped({ derived }: PlanInput, available: number, { tokens, by }: AskedLimit): Warning {
  const place = by.slice("BUDGET_BOUND_".length).toLowerCase();
  const detail = `the capsule's intelligence_level of ${derived.intelligence} allows ${available} tokens, fewer than the ${tokens} of the ${place}'s max_context_tokens`;
  return warning(WarningKind.CONTEXT_CAPPED, detail);
}
