import type { CountTokens, SummaryTask } from "../plan/summary-task.js";
import { clipTokens, oneLine } from "./clip.js";

/** The beginning of anything that was said, for what has no sentence at all; empty where nothing was. */
export function anyText({ previousSummary, turns }: SummaryTask, limit: number, count: CountTokens): string {
  const parts = turns.flatMap(({ messages }) => messages.flatMap((message) => message.parts));
  const texts = parts.map(({ content }) => (content?.$case === "text" ? content.value.text : ""));
  const said = [previousSummary, ...texts].find((text) => text.trim() !== "");
  return said === undefined ? "" : clipTokens(oneLine(said.trimStart().slice(0, 1_000)), limit, count);
}
