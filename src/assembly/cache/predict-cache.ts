import {
  BreakpointPlace,
  type CachePlan,
  ContextChangeKind,
} from "../../contract/gen/quire/v1/prompt_cache.js";
import type { ModelTokens } from "../../domain/token-units.js";
import { cacheKinds } from "../../models/cache-kinds.js";
import type { ModelEntry } from "../../models/catalogue.js";
import { unscaled } from "../../models/token-scale.js";
import { planCache, type SharedPart } from "../../rendering/cache-plan.js";
import type { ShownMessages } from "../../thread/shown-messages.js";
import { isClean } from "../history/history.js";
import type { Stages } from "../plan/budget-use.js";
import { isWarm } from "../resolve/pin.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import type { ContextDifference } from "./difference.js";

/** What of a resolved request it needs. */
export type PredictionInput = Pick<ResolvedContext, "model" | "nowMs" | "pin" | "request" | "scale">;

const breakpointPlaces = {
  tools: BreakpointPlace.TOOLS,
  system: BreakpointPlace.SYSTEM,
  message: BreakpointPlace.MESSAGE,
} as const;

/** Where the provider is asked to keep the context, and what its cache will do for it. */
export function predictCache(
  resolved: PredictionInput,
  { tools, system, history, current }: Stages,
  { shared: sharedPart, sharedTurnId, difference }: ContextDifference,
): CachePlan {
  const { pin, model, scale } = resolved;
  const rules = model.entry.cache;
  // What is predicted is the estimate itself, without the margin that a budget keeps.
  const estimate = (tokens: ModelTokens) => (scale.exact ? tokens : unscaled(scale, tokens) * scale.ratio);
  const shown = history.messages();
  const ratio = scale.exact ? 1 : scale.ratio;
  const messageTokens: number[] = [];
  for (const { o200kTokens } of shown) for (const tokens of o200kTokens) messageTokens.push(tokens * ratio);
  const historyMessages = messageTokens.length;
  if (current.message) messageTokens.push(estimate(current.tokens));
  const warm = pin !== undefined && isWarm(resolved, pin);
  const shared: SharedPart = warm ? sharedPart : "nothing";
  const planned = planCache({
    rules,
    toolsTokens: estimate(tools.tokens),
    systemTokens: estimate(system.tokens),
    messageTokens,
    sentBefore: pin ? sentBefore(resolved, shown, sharedTurnId) : 0,
    sentNext: isClean(resolved) ? historyMessages : messageTokens.length,
    shared,
  });
  const total = Math.round(planned.costWithoutCache);
  const readTokens = Math.round(planned.readTokens);
  const writeTokens = Math.min(total - readTokens, Math.round(planned.writeTokens));
  const inputPrice = inputPriceOf(model.entry, total);
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

/** Long requests may have a price of their own. */
function inputPriceOf({ inputPrice, longPrices }: ModelEntry, tokens: number): number | undefined {
  return longPrices && tokens > longPrices.aboveTokens ? longPrices.inputPrice : inputPrice;
}

/**
 * How many of the messages the model has seen in this form. The request that made a turn's last answer held all that is before it. Without the context that was sent, the
 * turn's first request is no longer what it was; those of its tool loop had the messages as they are.
 */
function sentBefore(resolved: PredictionInput, shown: readonly ShownMessages[], turnId: string): number {
  let first = 0;
  for (const { turnId: shownId, o200kTokens, firstAnswer, lastAnswer } of shown) {
    if (shownId === turnId && o200kTokens.length > 0) {
      if (isClean(resolved)) return firstAnswer < lastAnswer ? first + lastAnswer : first;
      return lastAnswer < 0 ? first + 1 : first + lastAnswer;
    }
    first += o200kTokens.length;
  }
  return 0;
}
