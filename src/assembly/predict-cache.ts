import { unscaled } from "../budget/token-scale.js";
import {
  BreakpointPlace,
  CacheKind,
  type CachePlan,
  ContextChangeKind,
} from "../contract/gen/quire/v1/prompt_cache.js";
import { planCache, type SharedPart } from "../rendering/cache-plan.js";
import type { Stages } from "./budget-use.js";
import { isClean } from "./history.js";
import type { ContextDifference } from "./prefix/difference.js";
import { isWarm } from "./prefix/settle-prefix.js";
import type { ResolvedContext } from "./resolve.js";
import type { ShownMessage } from "./shown-messages.js";

export const cacheKinds = {
  none: CacheKind.NONE,
  prefix: CacheKind.PREFIX,
  breakpoints: CacheKind.BREAKPOINTS,
} as const;
const breakpointPlaces = {
  tools: BreakpointPlace.TOOLS,
  system: BreakpointPlace.SYSTEM,
  message: BreakpointPlace.MESSAGE,
} as const;

/** Where the provider is asked to keep the context, and what its cache will do for it. */
export function predictCache(
  resolved: ResolvedContext,
  { tools, system, history, current }: Stages,
  { shared: sharedPart, sharedTurnId, difference }: ContextDifference,
): CachePlan {
  const { pin, model, scale } = resolved;
  const rules = model.entry.cache;
  // What is predicted is the estimate itself, without the margin that a budget keeps.
  const estimate = (tokens: number) => (scale.exact ? tokens : unscaled(scale, tokens) * scale.ratio);
  const shown = history.messages();
  const messageTokens = shown.map(({ o200kTokens }) => o200kTokens * (scale.exact ? 1 : scale.ratio));
  if (current.message) messageTokens.push(estimate(current.tokens));
  const warm = pin !== undefined && isWarm(resolved, pin);
  const shared: SharedPart = warm ? sharedPart : "nothing";
  const planned = planCache({
    rules,
    toolsTokens: estimate(tools.tokens),
    systemTokens: estimate(system.tokens),
    messageTokens,
    sentBefore: pin ? sentBefore(resolved, shown, sharedTurnId) : 0,
    sentNext: isClean(resolved) ? shown.length : messageTokens.length,
    shared,
  });
  const total = Math.round(planned.costWithoutCache);
  const readTokens = Math.round(planned.readTokens);
  const writeTokens = Math.min(total - readTokens, Math.round(planned.writeTokens));
  const { inputPrice } = model.entry;
  return {
    kind: cacheKinds[rules.kind],
    breakpoints: planned.breakpoints.map((breakpoint) => ({
      after: breakpointPlaces[breakpoint.after],
      messageIndex: breakpoint.after === "message" ? breakpoint.messageIndex : 0,
      prefixTokens: Math.round(breakpoint.prefixTokens),
      ttlSeconds: breakpoint.ttlSeconds,
    })),
    readTokens,
    writeTokens,
    freshTokens: total - readTokens - writeTokens,
    cost: planned.cost,
    costWithoutCache: planned.costWithoutCache,
    costUsd: inputPrice === undefined ? undefined : (planned.cost * inputPrice) / 1_000_000,
    missCause: warm
      ? difference
      : {
          kind: pin ? ContextChangeKind.TTL_PASSED : ContextChangeKind.FIRST_CONTEXT,
          detail: "",
        },
  };
}

/**
 * How many of the messages the model has seen in this form. The request that made a turn's last answer held all that is before it. Without the context that was sent, the
 * turn's first request is no longer what it was; those of its tool loop had the messages as they are.
 */
function sentBefore(resolved: ResolvedContext, shown: readonly ShownMessage[], turnId: string): number {
  const first = shown.findIndex((message) => message.turnId === turnId);
  if (first < 0) return 0;
  const isAnswer = (message: ShownMessage) => message.turnId === turnId && message.isAssistant;
  const answer = shown.findLastIndex(isAnswer);
  if (isClean(resolved)) return shown.findIndex(isAnswer) < answer ? answer : first;
  return answer < 0 ? first + 1 : answer;
}
