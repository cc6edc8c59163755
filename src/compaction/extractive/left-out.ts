import { defaultPromptTexts, fill } from "../../domain/prompt-texts.js";
import type { CountTokens, SummaryTask } from "../plan/summary-task.js";
import { withAsked } from "./asked.js";

/** What stands for turns that were cut away: how many there were, the identifiers of open work, and what a person asked to keep. */
export function summarizeByCount(task: SummaryTask, count: CountTokens): string {
  return withAsked(task, count, ({ turns, mustKeep, texts = defaultPromptTexts }) => {
    // A turn that is split twice is still one.
    const leftOut = fill(texts["extract-left-out"], { count: turns.at(-1)?.depth ?? 0 });
    return mustKeep.length > 0 ? `${leftOut} ${texts["extract-still-used"]} ${mustKeep.join(", ")}` : leftOut;
  });
}
