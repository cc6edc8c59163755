import { type Message, MessageRole, type Part } from "../../domain/message.js";
import { defaultPromptTexts, fill, type PromptTexts } from "../../domain/prompt-texts.js";
import type { SummaryTask } from "../plan/summary-task.js";
import type { Group } from "../plan/summary-words.js";
import { clipChars, oneLine } from "./clip.js";
import { cuesIn, tellsRelativeTime } from "./cues.js";
import { readPrevious, speakerLabel } from "./previous-lines.js";
import { type Sentence, sentencesIn } from "./sentences.js";
import { asks, isEmptyTalk, isNarration, withoutFillers } from "./small-talk.js";
import { isOfState } from "./state/call-facts.js";
import { templatePattern } from "./state/template-pattern.js";
import { attachmentLine, changesSomething, resultsByCall, resultText, toolLine } from "./tool-lines.js";
import type { Unit } from "./unit.js";

export interface Gathered {
  readonly units: readonly Unit[];
  /** Names and identifiers that the summary before listed. */
  readonly terms: readonly string[];
}

/** Of work, what was carried on already is older than all the rest. */
const carriedWorkWeight = 0.5;
const labelsToBelieve = 3;
const notSpeakers = new Set(
  "Note Error Warning Todo TODO Example Question Answer Output Input Result Results Summary Step Task Goal Plan Update Status Info Debug".split(
    " ",
  ),
);

/** Takes a task apart into what a summary can be made of, in order. */
export function gatherUnits(task: SummaryTask, hasState = false): Gathered {
  const units: Unit[] = [];
  const { texts = defaultPromptTexts, previousWords = defaultPromptTexts } = task;
  const noAnswer = templatePattern(previousWords["extract-no-answer"]);
  const previous = readPrevious(task.previousSummary, previousWords, texts);
  for (const [line, { group, speaker, day, sentences }] of previous.lines.entries()) {
    for (const text of sentences) {
      // A call that had no answer when it was folded will never have one.
      if (group === "open" && noAnswer.test(text)) continue;
      const { goal, fact, open } = cuesIn(text);
      units.push({
        text,
        group,
        speaker,
        line,
        turn: -1,
        day,
        weight: hasState && group !== "goal" ? carriedWorkWeight : 1,
        bonus: 1 + (goal + fact + open) / 2,
      });
    }
  }
  const reader = new TurnReader(task, texts, units, previous.lines.length, hasState);
  reader.read();
  return { units, terms: previous.terms };
}

class TurnReader {
  private readonly results;
  private readonly calls: ReadonlySet<string>;
  private readonly labels: ReadonlySet<string>;
  private readonly spansDays: boolean;
  private readonly messages: number;
  private line: number;
  private hasGoal: boolean;

  constructor(
    private readonly task: SummaryTask,
    private readonly texts: PromptTexts,
    private readonly units: Unit[],
    private readonly firstLine: number,
    private readonly hasState: boolean,
  ) {
    this.line = firstLine;
    this.messages = task.turns.reduce((sum, { messages }) => sum + messages.length, 1);
    this.hasGoal = units.some(({ group }) => group === "goal");
    this.results = resultsByCall(task.turns);
    this.calls = callsIn(task);
    this.labels = speakersIn(task);
    const days = new Set(task.turns.map(({ createdMs }) => dayOf(createdMs)));
    this.spansDays = days.size > 1 || units.some(({ day }) => day !== "");
  }

  read(): void {
    for (const [turn, { messages, createdMs }] of this.task.turns.entries()) {
      const day = this.spansDays ? dayOf(createdMs) : "";
      for (const message of messages) {
        this.line++;
        for (const part of message.parts) this.readPart(part, message, turn, day);
      }
    }
  }

  private readPart(part: Part, message: Message, turn: number, day: string): void {
    const { content } = part;
    switch (content?.$case) {
      case "text":
        this.readText(content.value.text, message.role, turn, day);
        break;
      case "toolCall": {
        const result = this.results.get(content.value.callId);
        if (this.hasState && result !== undefined && isOfState(content.value)) break;
        const group = result === undefined ? "open" : "tool";
        const bonus =
          result === undefined ? 4 : result.isError || changesSomething(content.value) ? 2.5 : 0.5;
        this.push({
          text: toolLine(this.texts, content.value, result),
          group,
          speaker: "",
          turn,
          day: "",
          weight: 0.6,
          bonus,
        });
        break;
      }
      case "toolResult":
        if (!this.hasState && !this.calls.has(content.value.callId)) {
          const text = resultText(content.value).slice(0, 1_000);
          this.pushLine(fill(this.texts["extract-result"], { text }), "tool", turn, 0.5);
        }
        break;
      case "approvalRequest": {
        const { prompt } = content.value;
        if (prompt !== "")
          this.pushLine(fill(this.texts["extract-approval-asked"], { prompt }), "fact", turn, 1.5);
        break;
      }
      case "approvalAnswer": {
        const { reason } = content.value;
        if (reason !== "")
          this.pushLine(fill(this.texts["extract-approval-answered"], { reason }), "fact", turn, 1.5);
        break;
      }
      default: {
        const name = attachmentLine(part);
        if (name !== "") this.pushLine(fill(this.texts["extract-attached"], { name }), "fact", turn, 1);
      }
    }
  }

  private readText(text: string, role: MessageRole, turn: number, day: string): void {
    const label = speakerLabel(text);
    const isLabelled = this.labels.has(label);
    const said = isLabelled ? text.slice(label.length + 2) : text;
    const speaker = isLabelled
      ? label
      : role === MessageRole.USER
        ? this.texts["extract-user"]
        : role === MessageRole.TOOL
          ? ""
          : this.texts["extract-assistant"];
    const isFirst = role === MessageRole.USER && !this.hasGoal;
    let place = 0;
    for (const sentence of sentencesIn(said)) {
      this.pushSentence(sentence, { speaker, role, turn, day, isLabelled, opening: isFirst ? place : -1 });
      place++;
    }
    if (role === MessageRole.USER && place > 0) this.hasGoal = true;
  }

  private pushSentence(
    sentence: Sentence,
    from: {
      readonly speaker: string;
      readonly role: MessageRole;
      readonly turn: number;
      readonly day: string;
      readonly isLabelled: boolean;
      /** The place in the first thing that the user said; -1 for everything else. */
      readonly opening: number;
    },
  ): void {
    const text = withoutFillers(withoutMarks(sentence.text));
    const { goal, fact, open } = cuesIn(text);
    const isUser = from.role === MessageRole.USER;
    const isOpening = from.opening >= 0 && from.opening < 6 && !isEmptyTalk(text);
    const isGoal = isUser && (isOpening || goal >= (from.isLabelled ? 3 : 1));
    const isTalkOfWork = this.hasState && !isUser && isNarration(text);
    const isOpen = open > 0 && !isTalkOfWork;
    const group: Group =
      sentence.kind === "task" ? "open" : isGoal ? "goal" : isOpen && fact === 0 ? "open" : "fact";
    const cues = goal * (isUser ? 0.5 : 0.2) + fact * 0.4 + open * 0.5 + (sentence.kind === "task" ? 3 : 0);
    const isRecent = from.turn >= this.task.turns.length - 3;
    this.push({
      text,
      group,
      speaker: group === "goal" && !from.isLabelled ? "" : from.speaker,
      turn: from.turn,
      day: from.day !== "" && tellsRelativeTime(text) ? from.day : "",
      weight:
        weightOf(sentence, from.role, from.isLabelled, this.hasState) *
        (isEmptyTalk(text) ? 0.1 : asks(text, isGoal) ? 0.5 : 1) *
        (isTalkOfWork ? 0.25 : 1) *
        this.freshness(),
      bonus: cues + (isOpening ? 3 - from.opening * 0.4 : 0) + (isRecent ? 0.4 : 0),
    });
  }

  /** In work, what was said last counts most: it says where the work stands. */
  private freshness(): number {
    return this.hasState ? 0.6 + (0.8 * (this.line - this.firstLine)) / this.messages : 1;
  }

  private pushLine(text: string, group: Group, turn: number, bonus: number): void {
    const line = clipChars(oneLine(text.slice(0, 1_000)), 240);
    this.push({ text: line, group, speaker: "", turn, day: "", weight: 0.8, bonus });
  }

  private push(unit: Omit<Unit, "line">): void {
    this.units.push({ ...unit, line: this.line });
  }
}

/** Words without the marks of a heading, of bold letters and of a table. */
function withoutMarks(text: string): string {
  return text.replaceAll("**", "").replace(/^#{1,6} /u, "");
}

function weightOf({ kind }: Sentence, role: MessageRole, isLabelled: boolean, hasState: boolean): number {
  // The names in code are in the state, where there is one.
  if (kind === "code") return hasState ? 0.05 : 0.3;
  if (role === MessageRole.TOOL) return 0.4;
  if (isLabelled) return 1;
  return role === MessageRole.USER ? 1.5 : kind === "item" ? 0.6 : 0.9;
}

function callsIn({ turns }: SummaryTask): Set<string> {
  const parts = turns.flatMap(({ messages }) => messages.flatMap((message) => message.parts));
  return new Set(
    parts.flatMap(({ content }) => (content?.$case === "toolCall" ? [content.value.callId] : [])),
  );
}

/** Names that so many messages begin with that they are who speaks. */
function speakersIn({ turns, previousSummary }: SummaryTask): Set<string> {
  const seen = new Map<string, number>();
  for (const { messages } of turns)
    for (const { parts } of messages)
      for (const { content } of parts) {
        const label = content?.$case === "text" ? speakerLabel(content.value.text) : "";
        if (label !== "" && !notSpeakers.has(label)) seen.set(label, (seen.get(label) ?? 0) + 1);
      }
  const isKnown = (label: string) => previousSummary.includes(`\n${label}: `);
  return new Set(
    [...seen].filter(([name, times]) => times >= labelsToBelieve || isKnown(name)).map(([name]) => name),
  );
}

function dayOf(createdMs: number): string {
  const isUsable = Number.isFinite(createdMs) && createdMs > 0 && createdMs < 253_402_300_800_000;
  return isUsable ? new Date(createdMs).toISOString().slice(0, 10) : "";
}
