import { parseJson } from "../../../domain/json-scan.js";
import type { ToolCallPart } from "../../../domain/message.js";
import { isPath } from "../../../domain/names.js";
import { changesSomething, unescaped } from "../tool-lines.js";

/** What the arguments of a call say of the work. */
export interface CallFacts {
  /** The file that it reads or writes; empty where it is about none. */
  readonly path: string;
  readonly isWrite: boolean;
  /** What it runs; empty where it runs nothing. */
  readonly command: string;
  /** The list of tasks that it leaves behind. */
  readonly tasks: readonly Task[] | undefined;
  /** All its other texts. */
  readonly text: string;
}

export interface Task {
  readonly text: string;
  readonly isDone: boolean;
}

const pathKeys =
  /^(?:(?:absolute|relative|target|source|notebook)?_?(?:file)?_?(?:path|name)|file|filename|uri)$/iu;
const commandKeys = /^(?:command|cmd|script|shell_command)$/iu;
const contentKeys =
  /^(?:content|contents|new_?(?:text|string|str|source)|old_?(?:text|string|str)|file_text|insert_text|patch|diff|edits?|replacements?)$/iu;
const taskLists = /^(?:todos?|tasks?|plan|items|steps)$/iu;
const taskTexts = ["content", "step", "title", "text", "task", "description", "name"] as const;
const done = /^(?:done|completed?|finished|closed|cancell?ed)$/iu;
const mostTasks = 40;

export function callFacts(call: ToolCallPart): CallFacts {
  const given = parseJson(call.argumentsJson);
  if (given === null || typeof given !== "object" || Array.isArray(given))
    return { path: "", isWrite: false, command: "", tasks: undefined, text: unescaped(call.argumentsJson) };
  let path = "";
  let command = "";
  let tasks: readonly Task[] | undefined;
  let hasContent = false;
  const rest: string[] = [];
  for (const [key, value] of Object.entries(given)) {
    if (typeof value === "string" && path === "" && pathKeys.test(key) && isPath(value)) path = value;
    else if (command === "" && commandKeys.test(key) && isCommand(value)) command = commandOf(value);
    else {
      if (taskLists.test(key)) tasks ??= tasksOf(value);
      hasContent ||= contentKeys.test(key);
      leavesOf(value, rest);
    }
  }
  const isWrite = path !== "" && (hasContent || changesSomething(call));
  return { path, isWrite, command, tasks, text: rest.join("\n") };
}

/** Whether the state says all that a line about the call would say. */
export function isOfState(call: ToolCallPart): boolean {
  const { path, command, tasks } = callFacts(call);
  return path !== "" || command !== "" || tasks !== undefined;
}

function isCommand(value: unknown): boolean {
  return (
    typeof value === "string" || (Array.isArray(value) && value.every((word) => typeof word === "string"))
  );
}

function commandOf(value: unknown): string {
  return typeof value === "string" ? value : (value as readonly string[]).join(" ");
}

function tasksOf(value: unknown): readonly Task[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const tasks: Task[] = [];
  for (const item of value.slice(0, mostTasks) as readonly unknown[]) {
    if (item === null || typeof item !== "object" || !("status" in item)) return undefined;
    const fields = item as Readonly<Record<string, unknown>>;
    const text = taskTexts.map((key) => fields[key]).find((found) => typeof found === "string");
    if (text !== undefined) tasks.push({ text: String(text), isDone: done.test(String(fields.status)) });
  }
  return tasks.length > 0 ? tasks : undefined;
}

function leavesOf(value: unknown, leaves: string[]): void {
  if (Array.isArray(value)) for (const inner of value) leavesOf(inner, leaves);
  else if (value !== null && typeof value === "object")
    for (const inner of Object.values(value)) leavesOf(inner, leaves);
  else if (value !== null) leaves.push(String(value));
}
