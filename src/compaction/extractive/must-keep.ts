import type { CountTokens } from "../plan/summary-task.js";
import type { SummaryWords } from "../plan/summary-words.js";

/**
 * The identifiers in one line that costs at most so many tokens: under a heading where there is room, bare where there
 * is less, and only the first of them where they do not fit at all.
 */
export function mustKeepLine(
  mustKeep: readonly string[],
  words: SummaryWords,
  maxTokens: number,
  count: CountTokens,
): string {
  const ids = [...new Set(mustKeep)].filter((id) => id !== "");
  if (ids.length === 0) return "";
  const forms = [
    `${words["extract-identifiers"]} ${ids.join(", ")}`,
    ids.join(", "),
    ids.join(" "),
    ids.join("\n"),
  ];
  const whole = forms.find((form) => count(form) <= maxTokens);
  if (whole !== undefined) return whole;
  let line = "";
  for (const id of ids) {
    const longer = line === "" ? id : `${line} ${id}`;
    if (count(longer) <= maxTokens) line = longer;
  }
  return line;
}
