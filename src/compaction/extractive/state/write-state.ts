import { fill } from "../../../domain/prompt-texts.js";
import type { CountTokens } from "../../plan/summary-task.js";
import { type SummaryWords, stateHeadingsOf } from "../../plan/summary-words.js";
import { clipChars, clipTokens, oneLine } from "../clip.js";
import type { FileUse, WorkState } from "./work-state.js";

/** The most of the room that each may take, before names take what is left. */
const shares = { request: 0.25, tasks: 0.15, files: 0.4, commands: 0.12, errors: 0.08 } as const;
/** What the first line of each may take, if it is long. */
const firstShare = 0.3;
const mostNames = 4_000;
const namesInLine = 40;
const commandChars = 400;
const taskChars = 300;
const curedFiles = 4;
/** What a line or a name costs beside its words. */
const jointTokens = 1;

/** The state in at most so many tokens; empty where there is none, or no room. What is shown elsewhere in the context is left out. */
export function writeState(
  state: WorkState,
  words: SummaryWords,
  tokens: number,
  isShown: (name: string) => boolean,
  count: CountTokens,
): string {
  const writer = new StateWriter(state, words, tokens, isShown, count);
  return writer.write();
}

class StateWriter {
  private left: number;
  private readonly headings;

  constructor(
    private readonly state: WorkState,
    private readonly words: SummaryWords,
    private readonly tokens: number,
    private readonly isShown: (name: string) => boolean,
    private readonly count: CountTokens,
  ) {
    this.headings = stateHeadingsOf(words);
    const { request, ...others } = this.headings;
    const headings = Object.values(state.request === "" ? others : this.headings);
    this.left = tokens - count(headings.join("\n")) - headings.length;
  }

  write(): string {
    if (this.left <= 0) return "";
    const request = this.take(this.requestLines(), shares.request);
    const tasks = this.take(this.taskLines(), shares.tasks);
    const errors = this.take(this.cureLines(), shares.errors);
    const files = this.takeFiles();
    const commands = this.take(this.commandLines(), shares.commands);
    const { inFiles, elsewhere } = this.takeNames(new Set(files));
    const fileLines = files.map((file) => this.fileLine(file, inFiles.get(file) ?? []));
    const sections = {
      request,
      tasks,
      files: fileLines,
      commands,
      errors,
      names: inLines(elsewhere),
    };
    return Object.entries(sections)
      .filter(([, lines]) => lines.length > 0)
      .map(([name, lines]) => [this.headings[name as keyof typeof sections], ...lines].join("\n"))
      .join("\n");
  }

  /** The first lines that fit into a share. */
  private take(lines: Iterable<string>, share: number): string[] {
    const taken: string[] = [];
    let room = Math.min(this.left, this.tokens * share);
    for (const line of lines) {
      const cost = this.count(line) + jointTokens;
      if (cost > (taken.length === 0 ? Math.min(this.left, this.tokens * firstShare) : room)) continue;
      room -= cost;
      this.left -= cost;
      taken.push(line);
    }
    return taken;
  }

  private *requestLines(): Generator<string, void> {
    const most = Math.floor(Math.min(this.left, this.tokens * shares.request)) - jointTokens;
    const line = clipTokens(this.state.request, most, this.count);
    if (line !== "") yield line;
  }

  private *taskLines(): Generator<string, void> {
    const { tasks } = this.state;
    for (const isDone of [false, true])
      for (const { text } of tasks.filter((task) => task.isDone === isDone))
        yield fill(this.words[isDone ? "extract-task-done" : "extract-task-open"], {
          task: clipChars(oneLine(text.slice(0, 2 * taskChars)), taskChars),
        });
  }

  private *cureLines(): Generator<string, void> {
    const seen = new Set<string>();
    for (const { failure, files } of this.state.cures.toReversed()) {
      if (seen.has(failure)) continue;
      seen.add(failure);
      const some = files.slice(-curedFiles).join(", ");
      yield some === ""
        ? fill(this.words["extract-cured-alone"], { failure })
        : fill(this.words["extract-cured"], { failure, files: some });
    }
  }

  private *commandLines(): Generator<string, void> {
    const hottest = [...this.state.commands.values()].sort((a, b) => b.heat - a.heat);
    const seen = new Set<string>();
    for (const { command, failure } of hottest) {
      const shown = clipChars(oneLine(command.slice(0, 2 * commandChars)), commandChars);
      if (seen.has(shown) || shown === "") continue;
      seen.add(shown);
      yield failure === "" ? shown : fill(this.words["extract-command-failed"], { command: shown, failure });
    }
  }

  private takeFiles(): FileUse[] {
    const hottest = [...this.state.files.values()].sort((a, b) => b.heat - a.heat);
    const taken: FileUse[] = [];
    let room = Math.min(this.left, this.tokens * shares.files);
    for (const file of hottest) {
      const cost = this.count(this.fileLine(file, [])) + jointTokens;
      if (cost > room) continue;
      room -= cost;
      this.left -= cost;
      taken.push(file);
    }
    return taken;
  }

  private fileLine({ path, reads, writes }: FileUse, names: readonly string[]): string {
    const uses = [
      reads > 0 ? fill(this.words["extract-file-read"], { count: reads }) : "",
      writes > 0 ? fill(this.words["extract-file-written"], { count: writes }) : "",
    ];
    const listed = names.length === 0 ? "" : `: ${names.join(", ")}`;
    return `${path} (${uses.filter((use) => use !== "").join(", ")})${listed}`;
  }

  /** The names that say the most for what they cost, each where it is used most. */
  private takeNames(files: ReadonlySet<FileUse>) {
    const all = new Map<string, { heat: number; most: number; file: FileUse | undefined }>();
    const add = (names: ReadonlyMap<string, number>, file: FileUse | undefined) => {
      for (const [name, heat] of names) {
        const known = all.get(name);
        if (!known) all.set(name, { heat, most: heat, file });
        else {
          known.heat += heat;
          if (file !== undefined && (known.file === undefined || heat > known.most))
            Object.assign(known, { most: heat, file });
        }
      }
    };
    for (const file of this.state.files.values()) add(file.names, files.has(file) ? file : undefined);
    add(this.state.names, undefined);
    const paths = new Set([...files].map(({ path }) => path));
    const hottest = [...all]
      .filter(([name]) => !paths.has(name) && !this.isShown(name))
      .sort(([, a], [, b]) => b.heat - a.heat)
      .slice(0, mostNames)
      .map(([name, { heat, file }]) => {
        const cost = this.count(`, ${name}`);
        return { name, file, cost, worth: heat / (cost + 1) };
      })
      .sort((a, b) => b.worth - a.worth);
    const inFiles = new Map<FileUse, string[]>();
    const elsewhere: string[] = [];
    for (const { name, file, cost } of hottest) {
      if (cost > this.left) continue;
      this.left -= cost;
      if (file === undefined) elsewhere.push(name);
      else inFiles.set(file, [...(inFiles.get(file) ?? []), name]);
    }
    return { inFiles, elsewhere };
  }
}

function inLines(names: readonly string[]): string[] {
  const lines: string[] = [];
  for (let at = 0; at < names.length; at += namesInLine)
    lines.push(names.slice(at, at + namesInLine).join(", "));
  return lines;
}
