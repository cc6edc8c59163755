import type { CountTokens, SummaryTask } from "./summary-task.js";

/** The most that a summary may cost: its budget, and less than what it replaces. */
export function summaryLimit(task: SummaryTask, count: CountTokens): number {
  const turns = task.turns.reduce((sum, { tokens }) => sum + tokens, 0);
  const replaced = (task.previousSummary === "" ? 0 : count(task.previousSummary)) + turns;
  const limit = replaced > 0 ? Math.min(task.maxTokens, Math.max(1, replaced - 1)) : task.maxTokens;
  return Math.floor(limit);
}
