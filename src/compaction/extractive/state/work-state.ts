import { MessageRole, type ToolResultPart } from "../../../domain/message.js";
import { namesIn } from "../../../domain/names.js";
import type { SummaryTask } from "../../plan/summary-task.js";
import { resultsByCall, resultText } from "../tool-lines.js";
import { type CallFacts, callFacts, type Task } from "./call-facts.js";
import { failureIn } from "./failures.js";

/** A file that was worked with. */
export interface FileUse {
  readonly path: string;
  reads: number;
  writes: number;
  /** How much it is in use: often and lately. */
  heat: number;
  /** The names that were read or written in it, each with its own heat. */
  readonly names: Map<string, number>;
}

/** A command, and what came of it the last time. */
export interface CommandUse {
  readonly command: string;
  heat: number;
  /** How it failed; empty where it did not. */
  failure: string;
}

/** A failure that is gone, and the files that were written before it went. */
export interface Cure {
  readonly failure: string;
  readonly files: readonly string[];
}

/**
 * What an agent has in hand: files, commands, errors and their cures, tasks, names. It is carried on from summary to summary as it is. How
 * much of it there is room for is settled when it is written: what is used often and lately comes first.
 */
export class WorkState {
  readonly files = new Map<string, FileUse>();
  readonly commands = new Map<string, CommandUse>();
  /** Names that are in no file. */
  readonly names = new Map<string, number>();
  /** The oldest first. */
  readonly cures: Cure[] = [];
  tasks: readonly Task[] = [];
  /** What the user wants of a turn that is shown without its beginning; empty where every turn is shown whole or not at all. */
  request = "";

  get isEmpty(): boolean {
    return (
      this.files.size === 0 &&
      this.commands.size === 0 &&
      this.names.size === 0 &&
      this.tasks.length === 0 &&
      this.request === ""
    );
  }

  file(path: string): FileUse {
    let file = this.files.get(path);
    if (!file) {
      file = { path, reads: 0, writes: 0, heat: 0, names: new Map() };
      this.files.set(path, file);
    }
    return file;
  }

  command(command: string): CommandUse {
    let use = this.commands.get(command);
    if (!use) {
      use = { command, heat: 0, failure: "" };
      this.commands.set(command, use);
    }
    return use;
  }
}

/** What each use counts, by where the name stands: what the user said and what the model wrote are used again more often. */
const weights = { user: 2, assistant: 1.2, call: 1.5, result: 1, failure: 1.5 } as const;
const charsPerToken = 4;
/** Heat falls with the root of the age; this many tokens are no age at all. */
const freshTokens = 1_000;

export function heatAt(ageTokens: number): number {
  return 1 / Math.sqrt(1 + ageTokens / freshTokens);
}

/** Takes the turns of a task into a state. */
export function gatherWork(task: SummaryTask, state: WorkState): void {
  const reader = new WorkReader(task, state);
  for (const turn of task.turns) reader.read(turn.messages);
}

class WorkReader {
  private readonly results: ReadonlyMap<string, ToolResultPart>;
  private readonly allChars: number;
  private chars = 0;
  private readonly calls = new Map<string, CallFacts>();
  /** Files that were written since each command failed. */
  private readonly failing = new Map<string, { readonly failure: string; readonly written: Set<string> }>();

  constructor(
    task: SummaryTask,
    private readonly state: WorkState,
  ) {
    this.results = resultsByCall(task.turns);
    this.allChars = task.turns.reduce((sum, { tokens }) => sum + tokens * charsPerToken, 0);
  }

  read(messages: SummaryTask["turns"][number]["messages"]): void {
    for (const { role, parts } of messages)
      for (const { content } of parts) {
        if (content?.$case === "text") {
          const { text } = content.value;
          this.note(text, this.state.names, role === MessageRole.USER ? weights.user : weights.assistant);
        } else if (content?.$case === "toolCall") {
          const facts = callFacts(content.value);
          this.calls.set(content.value.callId, facts);
          this.readCall(facts, this.results.get(content.value.callId));
        } else if (content?.$case === "toolResult") this.readResult(content.value);
      }
  }

  private readCall(facts: CallFacts, result: ToolResultPart | undefined): void {
    const heat = this.heat() * weights.call;
    if (facts.tasks) this.state.tasks = facts.tasks;
    if (facts.path !== "") {
      const file = this.state.file(facts.path);
      file.heat += heat;
      if (facts.isWrite) {
        file.writes++;
        for (const { written } of this.failing.values()) written.add(facts.path);
      } else file.reads++;
      this.note(facts.text, file.names, weights.call);
      return;
    }
    this.note(`${facts.command}\n${facts.text}`, this.state.names, weights.call);
    if (facts.command !== "" && result !== undefined) this.readOutcome(facts.command, result, heat);
  }

  private readOutcome(command: string, result: ToolResultPart, heat: number): void {
    const use = this.state.command(command);
    use.heat += heat;
    const failure = failureIn(resultText(result), result.isError);
    const before = this.failing.get(command);
    if (failure !== "") {
      use.failure = failure;
      if (!before) this.failing.set(command, { failure, written: new Set() });
    } else {
      const cured = before?.failure ?? use.failure;
      if (cured !== "") this.state.cures.push({ failure: cured, files: [...(before?.written ?? [])] });
      use.failure = "";
      this.failing.delete(command);
    }
  }

  private readResult(result: ToolResultPart): void {
    const facts = this.calls.get(result.callId);
    const names = facts && facts.path !== "" ? this.state.file(facts.path).names : this.state.names;
    this.note(resultText(result), names, result.isError ? weights.failure : weights.result);
  }

  private note(text: string, names: Map<string, number>, weight: number): void {
    this.chars += text.length;
    const heat = this.heat() * weight;
    for (const name of namesIn(text)) names.set(name, (names.get(name) ?? 0) + heat);
  }

  private heat(): number {
    return heatAt(Math.max(0, this.allChars - this.chars) / charsPerToken);
  }
}
