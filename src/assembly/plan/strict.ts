import { BudgetPolicy } from "../../domain/context-settings.js";
import { QuireError } from "../../errors/quire-error.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import type { Vocabulary } from "../../tokens/vocabulary.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import type { ContextPlan } from "./plan.js";

/** What of a resolved request it needs. */
export type LaneInput = Pick<ResolvedContext, "settings">;

export function isStrictTruncate(resolved: LaneInput): boolean {
  return resolved.settings.policy === BudgetPolicy.STRICT_TRUNCATE;
}

/** Under STRICT_FAIL, a lane that is over its share fails the assembly. */
export function requireLane(
  resolved: LaneInput,
  plan: ContextPlan,
  lane: keyof ContextPlan["lanes"],
  tokens: number,
): void {
  const limit = plan.lanes[lane];
  if (resolved.settings.policy !== BudgetPolicy.STRICT_FAIL || tokens <= limit) return;
  throw laneExceeded(lane, tokens, limit);
}

export function laneExceeded(lane: string, tokens: number, limit: number): QuireError {
  return new QuireError("LANE_EXCEEDED", `the lane ${lane} needs ${tokens} tokens and has ${limit}`, {
    metadata: { lane, tokens: String(tokens), limit: String(limit) },
  });
}

/** Stands at the end of a text that was cut. */
export function cutMarker({ templates }: Pick<ResolvedContext, "templates">): string {
  return `\n${templates.texts.truncated}`;
}

/**
 * The longest beginning of a text, marked as cut, that is within so many tokens: whole lines where it can, else whole
 * characters. Empty where not even the mark is.
 */
export async function truncateText(
  counter: TokenCounter,
  text: string,
  tokens: number,
  vocabulary: Vocabulary,
  mark: string,
): Promise<string> {
  const fits = async (end: number) => (await counter.count(text.slice(0, end) + mark, vocabulary)) <= tokens;
  if (!(await fits(0))) return "";
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (await fits(middle)) low = middle;
    else high = middle - 1;
  }
  const lineEnd = text.lastIndexOf("\n", low);
  // A line that begins in the second half of what fits is worth less than the whole lines before it.
  let end = lineEnd > low / 2 ? lineEnd : low;
  // A shorter text has fewer tokens, but for the last few characters, which may have been one token with what followed.
  while (isInsidePair(text, end) || !(await fits(end))) end--;
  return text.slice(0, end) + mark;
}

function isInsidePair(text: string, end: number): boolean {
  return /[\uD800-\uDBFF]/.test(text[end - 1] ?? "");
}
