import { type LanePlan, laneNames } from "../../budget/limits.js";
import {
  BudgetLane,
  ConceptualLayer,
  type ContextCandidate,
  type ContextHashes,
  type TokenBudget,
} from "../../contract/gen/quire/v1/assembly.js";
import { type Floor, FloorKind, floorText } from "../../domain/compaction.js";
import { sha256 } from "../../domain/hash.js";
import { minus, modelTokens, plus, sumOf } from "../../domain/token-units.js";
import { distinctWarnings, type Warning, WarningKind, warning } from "../../domain/warning.js";
import { scaled, unscaled } from "../../models/token-scale.js";
import { mediaWarnings } from "../body/unsent-media.js";
import type { CurrentStage } from "../event/current-message.js";
import type { GatherStage } from "../gather/gathered.js";
import type { HistoryStage } from "../history/history.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import type { SystemStage } from "../system/system.js";
import type { ToolsStage } from "../tools/tools.js";
import type { ContextPlan } from "./plan.js";

/** What of a resolved request it needs. */
export type UseInput = Pick<ResolvedContext, "derived" | "request" | "scale" | "warnings"> &
  Partial<Pick<ResolvedContext, "reportedLimit">>;

/** The finished layers of a context. */
export interface Stages {
  readonly tools: ToolsStage;
  readonly system: SystemStage;
  readonly history: HistoryStage;
  readonly current: CurrentStage;
  readonly gathered: GatherStage;
}

export interface ContextUse {
  readonly budget: TokenBudget;
  readonly hashes: ContextHashes;
  readonly warnings: readonly Warning[];
  readonly floors: readonly Floor[];
}

const laneOrder = [
  [BudgetLane.SYSTEM, "system"],
  [BudgetLane.HISTORY, "history"],
  [BudgetLane.MEMORY, "memory"],
  [BudgetLane.TOOLS, "tools"],
  [BudgetLane.BUFFER, "buffer"],
] as const;

/** What the context may use, before any of it is. */
export function plannedBudget(resolved: UseInput, plan: ContextPlan): TokenBudget {
  const none = modelTokens(0);
  const nothing = { system: none, history: none, memory: none, tools: none, buffer: none };
  return budgetOf(resolved, plan, nothing, [], false);
}

export function contextUse(resolved: UseInput, plan: ContextPlan, stages: Stages): ContextUse {
  const { tools, system, history, current } = stages;
  const used = {
    system: system.tokens,
    history: history.tokens,
    memory: current.sourceTokens,
    tools: tools.tokens,
    buffer: minus(current.tokens, current.sourceTokens),
  };
  const leadTokens = scaled(resolved.scale, system.lead.tokens);
  const memoryTokens = plus(current.memoryTokens, current.sourceTokens);
  const ofLayer = (layer: ConceptualLayer) =>
    system.sections
      .filter((section) => section.layer === layer)
      .reduce((sum, section) => sum + section.tokens, 0);
  const layers = [
    { layer: ConceptualLayer.WORKSPACE, used: ofLayer(ConceptualLayer.WORKSPACE) + tools.tokens },
    { layer: ConceptualLayer.PERSONA, used: ofLayer(ConceptualLayer.PERSONA) },
    { layer: ConceptualLayer.SESSION, used: history.tokens },
    { layer: ConceptualLayer.MEMORY, used: ofLayer(ConceptualLayer.MEMORY) + leadTokens + memoryTokens },
    { layer: ConceptualLayer.EVENT, used: current.tokens - memoryTokens },
  ];
  const parts = [tools.hash, system.hash, history.layer.hash, current.hash] as const;
  return {
    budget: budgetOf(resolved, plan, used, layers, history.hasMedia || current.hasMedia),
    hashes: {
      tools: parts[0],
      system: parts[1],
      history: parts[2],
      current: parts[3],
      whole: sha256(...parts),
    },
    warnings: distinctWarnings([
      ...resolved.warnings,
      ...mediaWarnings(resolved, history, current),
      ...plan.warnings,
      ...current.warnings,
      ...history.floors.flatMap(leftOut),
    ]),
    floors: history.floors,
  };
}

/** A context without its conversation is valid, and seldom what anybody wanted. */
function leftOut(floor: Floor): readonly Warning[] {
  const isLast = floor.kind === FloorKind.SUMMARY_LEFT_OUT || floor.kind === FloorKind.NO_TURN_FITS;
  return isLast ? [warning(WarningKind.CONVERSATION_LEFT_OUT, `${floorText(floor)}: too little room`)] : [];
}

function budgetOf(
  resolved: UseInput,
  plan: ContextPlan,
  used: LanePlan,
  layers: TokenBudget["layers"],
  hasMedia: boolean,
): TokenBudget {
  const { limits, lanes, historyCap = lanes.history, memoryLane } = plan;
  const { available } = limits;
  const planned = {
    ...lanes,
    history: Math.min(historyCap, available),
    memory: Math.min(memoryLane, available),
  };
  const total = sumOf(laneNames, (name) => used[name]);
  const { vocabulary, exact, ratio, margin, version } = resolved.scale;
  return {
    modelLimit: limits.modelLimit,
    reportedLimit: resolved.reportedLimit,
    reserveResponse: limits.reserveResponse,
    reserveTools: limits.reserveTools,
    available: limits.available,
    availableBy: plan.availableBy,
    used: {
      systemPrompt: used.system,
      history: used.history,
      event: used.buffer,
      tools: used.tools,
      memory: used.memory,
      total,
    },
    remaining: Math.max(0, limits.available - total),
    lanes: laneOrder.map(([lane, name]) => ({
      lane,
      share: resolved.derived.lanes[name],
      planned: planned[name],
      used: used[name],
    })),
    layers,
    exact: exact && !hasMedia,
    ratio,
    margin,
    calibrationVersion: version,
    countedTokens: unscaled(resolved.scale, total),
    vocabulary,
  };
}

/** Everything that could have gone into the context, layer by layer. */
export function candidatesOf({
  tools,
  system,
  history,
  current,
  gathered,
}: Stages): readonly ContextCandidate[] {
  return [
    ...tools.candidates,
    ...system.candidates,
    ...history.candidates,
    ...current.candidates,
    ...gathered.candidates,
  ];
}
