import { type Message, MessageRole } from "../../domain/message.js";
import { defaultPromptTexts } from "../../domain/prompt-texts.js";
import { identifiersIn } from "../plan/identifiers.js";
import { summaryLimit } from "../plan/summary-limit.js";
import type { CountTokens, SummaryTask } from "../plan/summary-task.js";
import { anyText } from "./any-text.js";
import { askedWords, withAsked } from "./asked.js";
import { clipChars, clipTokens, oneLine } from "./clip.js";
import type { Candidate } from "./cover.js";
import { cuesIn } from "./cues.js";
import { fitSummary } from "./fit-summary.js";
import { readPrevious } from "./previous-lines.js";
import { sentencesIn } from "./sentences.js";
import { withState } from "./state/with-state.js";
import { attachmentLine, changesSomething, resultsByCall, toolLine } from "./tool-lines.js";

const longestClip = 1_200;
/** No message has more of the budget than this. */
const largestShare = 0.3;
const carriedShare = 0.6;
const sentencesRead = 24;

interface Line {
  readonly text: string;
  readonly importance: number;
  readonly isCarried: boolean;
}

/**
 * Summarizes by keeping the most important messages as they are, clipped where they are long, in their order: what the
 * user first asked, instructions, decisions, open tasks, errors, and what holds identifiers.
 */
export function summarizeByImportance(task: SummaryTask, count: CountTokens): string {
  return withAsked(task, count, (asked) => withState(asked, count, (rest) => chooseMessages(rest, count)));
}

function chooseMessages(task: SummaryTask, count: CountTokens): string {
  const limit = summaryLimit(task, count);
  if (limit <= 0) return "";
  const candidates = [...carriedLines(task), ...spokenLines(task)].map(
    ({ text, importance, isCarried }, order) => {
      const clipped = clipTokens(text, Math.max(8, Math.floor(limit * largestShare)), count);
      const tokens = count(clipped) + 1;
      const unit = {
        text: clipped,
        group: "fact",
        speaker: "",
        line: order,
        turn: isCarried ? -1 : 0,
        day: "",
        weight: 1,
        bonus: importance,
      } as const;
      return { unit, order, tokens, terms: [] };
    },
  );
  const taken = mostImportant(candidates, limit);
  const write = (chosen: readonly Candidate[]) =>
    chosen
      .toSorted((a, b) => a.order - b.order)
      .map(({ unit }) => unit.text)
      .join("\n");
  const text = fitSummary(
    { taken, phrases: [], mustKeep: task.mustKeep, words: task.texts ?? defaultPromptTexts, write },
    limit,
    task.maxTokens,
    count,
  );
  return text === "" ? anyText(task, limit, count) : text;
}

/** Importance counts for more than shortness; of equals, the earlier one. */
function mostImportant(candidates: readonly Candidate[], limit: number): Candidate[] {
  const value = ({ unit, tokens }: Candidate) => unit.bonus / tokens ** 0.5;
  const taken: Candidate[] = [];
  let left = limit;
  let carriedLeft = limit * carriedShare;
  for (const candidate of candidates.toSorted((a, b) => value(b) - value(a) || a.order - b.order)) {
    const isCarried = candidate.unit.turn < 0;
    if (candidate.tokens > left || (isCarried && candidate.tokens > carriedLeft)) continue;
    taken.push(candidate);
    left -= candidate.tokens;
    if (isCarried) carriedLeft -= candidate.tokens;
  }
  return taken.length > 0 ? taken : candidates.slice(0, 1);
}

function carriedLines({
  previousSummary,
  previousWords = defaultPromptTexts,
  texts = defaultPromptTexts,
}: SummaryTask): Line[] {
  return readPrevious(previousSummary, previousWords, texts).lines.map(({ speaker, day, sentences }, at) => {
    const lead = `${day === "" ? "" : `[${day}] `}${speaker === "" ? "" : `${speaker}: `}`;
    const said = sentences.join(" ");
    return {
      text: `${lead}${said}`,
      importance: importanceOf(said) * 1.5 + (at === 0 ? 8 : 0),
      isCarried: true,
    };
  });
}

function* spokenLines(task: SummaryTask): Generator<Line, void> {
  const results = resultsByCall(task.turns);
  const { texts = defaultPromptTexts } = task;
  const asked = askedWords(task.instructions);
  let isFirst = task.previousSummary === "";
  for (const [turn, { messages }] of task.turns.entries()) {
    for (const message of messages) {
      const recent = turn >= task.turns.length - 3 ? 1.5 : 1;
      const said = saidIn(message);
      if (said !== "") {
        const isUser = message.role === MessageRole.USER;
        const opening = isUser && isFirst ? 10 : 0;
        if (isUser) isFirst = false;
        const wanted = [...asked].filter((word) => said.toLowerCase().includes(word)).length * 4;
        const importance = (importanceOf(said) * (isUser ? 1.5 : 1) + wanted) * recent + opening;
        const speaker = texts[isUser ? "extract-user" : "extract-assistant"];
        yield { text: `${speaker}: ${said}`, importance, isCarried: false };
      }
      for (const { content } of message.parts) {
        if (content?.$case !== "toolCall") continue;
        const result = results.get(content.value.callId);
        const weight =
          result === undefined ? 8 : result.isError ? 4 : changesSomething(content.value) ? 4 : 1;
        yield { text: toolLine(texts, content.value, result), importance: weight * recent, isCarried: false };
      }
    }
  }
}

function saidIn(message: Message): string {
  const texts = message.parts.map((part) =>
    part.content?.$case === "text"
      ? part.content.value.text.trim().slice(0, 4 * longestClip)
      : attachmentLine(part),
  );
  return clipChars(oneLine(texts.filter((text) => text !== "").join(" ")), longestClip);
}

function importanceOf(text: string): number {
  let cues = 0;
  let read = 0;
  for (const sentence of sentencesIn(text)) {
    if (++read > sentencesRead) break;
    const { goal, fact, open } = cuesIn(sentence.text);
    cues += goal + fact + open + (sentence.kind === "task" ? 3 : 0);
  }
  const names = text.match(/(?<=[\p{Ll},] )\p{Lu}\p{L}+|\d+/gu)?.length ?? 0;
  return 0.2 + Math.min(cues, 12) + Math.min(identifiersIn(text).length, 8) + Math.min(names, 8) / 2;
}
