import { type SummaryWords, stateHeadingsOf } from "../../plan/summary-words.js";
import type { Task } from "./call-facts.js";
import { templatePattern } from "./template-pattern.js";
import { heatAt, type WorkState } from "./work-state.js";

type Section = keyof ReturnType<typeof stateHeadingsOf>;

/** What carried things count against those of the turns: they were chosen before, and are older than all of these. */
const carriedWeight = 1.5;
const agePerPlace = 300;

/** Takes the state that a summary carries into this one, and gives the lines that are something else. */
export function readState(
  summary: string,
  words: SummaryWords,
  foldedTokens: number,
  state: WorkState,
): readonly string[] {
  const headings = Object.entries(stateHeadingsOf(words)) as [Section, string][];
  const others: string[] = [];
  const reader = new StateReader(words, foldedTokens, state);
  let section: Section | undefined;
  for (const line of summary.split("\n")) {
    const heading = headings.find(([, text]) => text === line);
    if (heading) section = heading[0];
    else if (section === undefined) others.push(line);
    else if (!reader.read(section, line)) others.push(line);
  }
  reader.finish();
  return others;
}

class StateReader {
  private readonly patterns;
  private readonly tasks: Task[] = [];
  private place = 0;

  constructor(
    words: SummaryWords,
    private readonly foldedTokens: number,
    private readonly state: WorkState,
  ) {
    this.patterns = {
      open: templatePattern(words["extract-task-open"]),
      done: templatePattern(words["extract-task-done"]),
      read: templatePattern(words["extract-file-read"]),
      written: templatePattern(words["extract-file-written"]),
      failed: templatePattern(words["extract-command-failed"]),
      cured: templatePattern(words["extract-cured"]),
      gone: templatePattern(words["extract-cured-alone"]),
    };
  }

  /** Whether the line is one of the section. */
  read(section: Section, line: string): boolean {
    this.place++;
    switch (section) {
      case "request":
        if (this.state.request !== "") return false;
        this.state.request = line;
        return true;
      case "tasks":
        return this.readTask(line);
      case "files":
        return this.readFile(line);
      case "commands":
        this.readCommand(line);
        return true;
      case "errors":
        return this.readCure(line);
      case "names":
        this.readNames(line, this.state.names);
        return true;
    }
  }

  finish(): void {
    if (this.tasks.length > 0) this.state.tasks = this.tasks;
  }

  private readTask(line: string): boolean {
    const open = this.patterns.open.exec(line)?.groups?.task;
    const done = this.patterns.done.exec(line)?.groups?.task;
    if (open === undefined && done === undefined) return false;
    this.tasks.push({ text: (open ?? done)!, isDone: open === undefined });
    return true;
  }

  private readFile(line: string): boolean {
    const found = /^(?<path>.+?) \((?<uses>[^()]*)\)(?:: (?<names>.*))?$/u.exec(line)?.groups;
    if (!found) return false;
    const file = this.state.file(found.path!);
    for (const use of found.uses!.split(", ")) {
      file.reads += Number(this.patterns.read.exec(use)?.groups?.count ?? 0) || 0;
      file.writes += Number(this.patterns.written.exec(use)?.groups?.count ?? 0) || 0;
    }
    file.heat += this.heat() * Math.sqrt(1 + file.reads + 2 * file.writes);
    this.readNames(found.names ?? "", file.names);
    return true;
  }

  private readCommand(line: string): void {
    const failed = this.patterns.failed.exec(line)?.groups;
    const use = this.state.command(failed?.command ?? line);
    use.failure = failed?.failure ?? "";
    use.heat += this.heat();
  }

  private readCure(line: string): boolean {
    const cured = this.patterns.cured.exec(line)?.groups;
    const failure = cured?.failure ?? this.patterns.gone.exec(line)?.groups?.failure;
    if (failure === undefined) return false;
    this.state.cures.push({ failure, files: cured?.files?.split(", ") ?? [] });
    return true;
  }

  private readNames(list: string, names: Map<string, number>): void {
    const listed = list.split(", ").filter((name) => name !== "");
    for (const [at, name] of listed.entries()) {
      const heat = this.heat() * (1.25 - at / (2 * listed.length));
      names.set(name, (names.get(name) ?? 0) + heat);
    }
  }

  private heat(): number {
    return carriedWeight * heatAt(this.foldedTokens + this.place * agePerPlace);
  }
}
