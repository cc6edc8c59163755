import {
  BreakpointPlace,
  CacheKind,
  type CachePlan,
  type PrefixState,
  type PrefixUpdate,
} from "../../contract/gen/quire/v1/prompt_cache.js";
import { barLegend, cacheBar, splitOf, sumOf } from "../cache/cache-bar.js";
import { counted, printable } from "../terminal/printable.js";
import { percent } from "./budget-text.js";
import { changeText } from "./change-text.js";
import { type Lines, labelWidth, number, word, wrap } from "./lines.js";

/** What the prompt cache will do for a context, and what that costs. */
export function printCachePlan(lines: Lines, plan: CachePlan): void {
  if (plan.kind === CacheKind.NONE) {
    lines.entry("cache", "none that is known of for this model");
    return;
  }
  const split = splitOf(plan);
  const { read, written, fresh } = split;
  const whole = sumOf(split);
  const amounts = `${number(read)} tokens read, ${number(written)} written, ${number(fresh)} fresh`;
  lines.entry("cache", `${amounts}: ${percent(read, whole)} from the cache`);
  const width = lines.width - labelWidth;
  lines.below(cacheBar(lines.paint, split, whole, width), lines.paint("dim", barLegend));
  lines.below(...wrap(costText(plan), width));
  if (plan.breakpoints.length > 0) lines.below(...wrap(`kept up to ${placesText(plan)}`, width));
  if (plan.missCause)
    lines.below(lines.paint("yellow", printable(`not read: ${changeText(plan.missCause)}`)));
}

function costText({ cost, costWithoutCache, costUsd }: CachePlan): string {
  const dollars = costUsd === undefined ? "" : `, $${costUsd.toFixed(4)}`;
  const share = percent(cost, costWithoutCache);
  return `costs as ${number(Math.round(cost))} input tokens, instead of ${number(Math.round(costWithoutCache))}: ${share}${dollars}`;
}

function placesText({ breakpoints }: CachePlan): string {
  const places = breakpoints.map(({ after, messageIndex, prefixTokens }) => {
    const place =
      after === BreakpointPlace.MESSAGE ? `message ${messageIndex}` : word(after, "BREAKPOINT_PLACE_");
    return `${place} (${number(prefixTokens)})`;
  });
  return places.join(", ");
}

/** How the system prompt came to be what it is, and where the context leaves the one before. */
export function printPrefix(lines: Lines, prefix: PrefixState): void {
  const { cause, updates, difference, firstDifference, previousAssemblyId } = prefix;
  lines.entry("prefix", printable(prefixText(prefix)), cause ? "yellow" : "bold");
  const width = lines.width - labelWidth;
  for (const update of updates) lines.below(...wrap(printable(updateText(update)), width));
  if (difference)
    lines.below(
      ...wrap(printable(`first other byte: ${number(firstDifference)}, ${changeText(difference)}`), width),
    );
  if (previousAssemblyId) lines.below(lines.paint("dim", `context before: ${previousAssemblyId}`));
}

function prefixText({ pinned, cause, previousAssemblyId, difference }: PrefixState): string {
  if (pinned) return "pinned: the system prompt is that of an earlier context, which is still warm";
  if (cause) return `made anew, although the one before is still warm: ${changeText(cause)}`;
  if (previousAssemblyId === "") return "the first one of the session for this model and role";
  return difference ? "not the one of the context before" : "goes on where the context before ended";
}

function updateText({ section, tokens }: PrefixUpdate): string {
  const where = tokens > 0 ? `${counted(tokens, "token")} in the current message` : "told in an earlier turn";
  return section === "" ? `earlier updates taken back: ${where}` : `update of ${section}: ${where}`;
}
