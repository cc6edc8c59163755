import { MessageRole } from "../../../domain/message.js";
import { namesIn } from "../../../domain/names.js";
import { defaultPromptTexts } from "../../../domain/prompt-texts.js";
import { mentions } from "../../plan/identifiers.js";
import { summaryLimit } from "../../plan/summary-limit.js";
import type { CountTokens, FoldedTurn, SummaryTask } from "../../plan/summary-task.js";
import { oneLine } from "../clip.js";
import { resultText } from "../tool-lines.js";
import { callFacts } from "./call-facts.js";
import { readState } from "./read-state.js";
import { gatherWork, WorkState } from "./work-state.js";
import { writeState } from "./write-state.js";

/** So much of a summary's room is for the state of the work, where there is so much of it. */
const stateShare = 0.7;
/** With less than this a summary carries no state. */
const leastTokens = 120;
/** Texts of kept turns that are longer may be left out of a context, so what they say counts as not shown. */
const longestShown = 1_000;
/** More of what a user asked is never carried. */
const longestRequest = 8_192;

/**
 * A summary in two parts: what was said, by `summarize`, and the state of the work, which is carried on from summary to summary. Where no tools
 * were used there is no state.
 */
export function withState(
  task: SummaryTask,
  count: CountTokens,
  summarize: (task: SummaryTask, hasState: boolean) => string,
): string {
  const carried = carriedState(task, count);
  if (!carried) return summarize(task, false);
  const limit = summaryLimit(task, count);
  const first = carried.write(Math.floor(limit * stateShare));
  const room = limit - count(first) - 1;
  const said = summarize(
    {
      ...task,
      previousSummary: carried.previousSummary,
      maxTokens: room,
      mustKeep: task.mustKeep.filter((id) => !mentions(first, id)),
    },
    true,
  );
  const left = limit - count(said) - 2;
  const text = [said, left > room ? carried.write(left) : first].filter((part) => part !== "").join("\n");
  return count(text) <= limit ? text : [said, first].filter((part) => part !== "").join("\n");
}

/** The state of the work that a summary is to carry on. */
export interface CarriedState {
  /** What the summary before says besides. */
  readonly previousSummary: string;
  /** The state in at most so many tokens. */
  write(tokens: number): string;
}

/** Undefined where there is none, or no room. */
export function carriedState(task: SummaryTask, count: CountTokens): CarriedState | undefined {
  const { texts = defaultPromptTexts, previousWords = defaultPromptTexts } = task;
  const foldedTokens = task.turns.reduce((sum, { tokens }) => sum + tokens, 0);
  const state = new WorkState();
  const others = [...readState(task.previousSummary, previousWords, foldedTokens, state)];
  const request = requestInHand(task, state.request);
  // What was asked in a turn that is folded whole now is something that was said, like everything else.
  if (request === "" && state.request !== "") others.push(state.request);
  state.request = request;
  if (summaryLimit(task, count) < leastTokens || (state.isEmpty && !usesTools(task.turns))) return undefined;
  gatherWork(task, state);
  const shown = shownNames(task.kept ?? []);
  return {
    previousSummary: others.join("\n"),
    write: (tokens) => writeState(state, texts, tokens, (name) => shown.has(name), count),
  };
}

/** What the user wants of the turn of which only the end is kept; the one before, where its beginning was folded earlier. */
function requestInHand({ turns, kept }: SummaryTask, before: string): string {
  const split = turns.at(-1);
  if (!split || kept?.[0]?.turnId !== split.turnId) return "";
  const words = split.messages
    .filter(({ role }) => role === MessageRole.USER)
    .flatMap(({ parts }) => parts)
    .flatMap(({ content }) =>
      content?.$case === "text" ? [content.value.text.slice(0, longestRequest)] : [],
    );
  return words.length > 0 ? oneLine(words.join("\n").slice(0, longestRequest)) : before;
}

function usesTools(turns: readonly FoldedTurn[]): boolean {
  return turns.some(({ messages }) =>
    messages.some(({ parts }) => parts.some(({ content }) => content?.$case === "toolCall")),
  );
}

/** What the turns say that stay beside the summary. */
function shownNames(kept: readonly FoldedTurn[]): Set<string> {
  const shown = new Set<string>();
  const add = (text: string) => {
    if (text.length <= longestShown) for (const name of namesIn(text)) shown.add(name);
  };
  for (const { messages } of kept)
    for (const { parts } of messages)
      for (const { content } of parts) {
        if (content?.$case === "text") add(content.value.text);
        if (content?.$case === "toolResult") add(resultText(content.value));
        if (content?.$case === "toolCall") {
          const { path, command, text } = callFacts(content.value);
          add(path);
          add(`${command}\n${text}`);
        }
      }
  return shown;
}
