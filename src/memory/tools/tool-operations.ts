import type { BlockOperation, BlockSchema, Json, Operation } from "../../domain/memory.js";
import { sectionsOf } from "../schema/sections.js";

/** The arguments of a model's call. */
export type ToolArguments = { readonly [name: string]: Json };

/** What a model did wrong, in words for it. */
export class ToolMistake extends Error {
  override readonly name = "ToolMistake";
}

/** What a tool does to a block of this schema, given how much text its section has. */
type ToOperation = (
  args: ToolArguments,
  kind: string,
  state: { readonly isEmpty: boolean },
) => Operation | undefined;

const writing: Readonly<Record<string, ToOperation>> = {
  memory_append: (args, kind, { isEmpty }) => {
    const content = text(args, "content");
    switch (kind) {
      case "list":
        return { $case: "pushItem", value: { valueJson: JSON.stringify(content) } };
      case "log":
        return { $case: "appendEntry", value: { entryJson: JSON.stringify({ message: content }) } };
      case "map":
        throw new ToolMistake("this block has fields: use memory_set_field or memory_append_to_field");
      default:
        return { $case: "appendText", value: { text: isEmpty ? content : `\n${content}` } };
    }
  },
  memory_replace: (args) => ({
    $case: "replaceText",
    value: { oldText: text(args, "old_str"), newText: text(args, "new_str", ""), once: true },
  }),
  memory_insert: (args) => {
    const line = integer(args, "insert_line", -1);
    const afterLine = line < 0 ? 2 ** 31 - 1 : line;
    return { $case: "insertText", value: { text: text(args, "new_str"), afterLine } };
  },
  memory_rethink: (args) => ({ $case: "setText", value: { text: text(args, "new_memory", "") } }),
  memory_set_field: (args) => ({
    $case: "setField",
    value: { field: text(args, "field"), valueJson: json(args, "value") },
  }),
  memory_append_to_field: (args) => ({
    $case: "appendToField",
    value: { field: text(args, "field"), valueJson: json(args, "value") },
  }),
  memory_increment: (args) => ({
    $case: "incrementCounter",
    value: { field: text(args, "field"), by: number(args, "by", 1) },
  }),
  memory_add_item: (args) =>
    args.index === undefined
      ? { $case: "pushItem", value: { valueJson: json(args, "item") } }
      : { $case: "insertItem", value: { index: integer(args, "index"), valueJson: json(args, "item") } },
  memory_set_item: (args) => ({
    $case: "setItem",
    value: { index: integer(args, "index"), valueJson: json(args, "item") },
  }),
  memory_delete_item: (args) => ({ $case: "deleteItem", value: { index: integer(args, "index") } }),
};

/** Letta's older names for the same. */
const older: Readonly<
  Record<string, { readonly name: string; readonly renamed: Readonly<Record<string, string>> }>
> = {
  core_memory_append: { name: "memory_append", renamed: {} },
  core_memory_replace: {
    name: "memory_replace",
    renamed: { old_content: "old_str", new_content: "new_str" },
  },
};

/** A call under the name that it has here. */
export function knownCall(
  name: string,
  args: ToolArguments,
): { readonly name: string; readonly args: ToolArguments } {
  const known = older[name];
  if (!known) return { name, args };
  const entries = Object.entries(args).map(([key, value]) => [known.renamed[key] ?? key, value]);
  return { name: known.name, args: Object.fromEntries(entries) as ToolArguments };
}

export function isWriting(name: string): boolean {
  return Object.hasOwn(writing, name);
}

/** The operation that a call stands for on a block of this schema. */
export function operationOf(
  name: string,
  args: ToolArguments,
  schema: BlockSchema,
  isEmpty: (section: string) => boolean,
): BlockOperation {
  const section = args.section === undefined || args.section === null ? "" : text(args, "section");
  const kind = sectionsOf(schema).find((one) => one.name === section)?.schema.$case ?? "text";
  return { section, operation: writing[name]!(args, kind, { isEmpty: isEmpty(section) }) };
}

export function text(args: ToolArguments, name: string, otherwise?: string): string {
  const value = args[name] ?? otherwise;
  if (typeof value !== "string" || (value === "" && otherwise === undefined))
    throw new ToolMistake(`the argument ${name} must be a text`);
  if (value.length > longestText) throw new ToolMistake(`the argument ${name} is too long`);
  return value;
}

const longestText = 1_000_000;

function number(args: ToolArguments, name: string, otherwise?: number): number {
  const value = args[name] ?? otherwise;
  if (typeof value !== "number" || Math.abs(value) > 1e12)
    throw new ToolMistake(`the argument ${name} must be a number`);
  return value;
}

export function integer(args: ToolArguments, name: string, otherwise?: number): number {
  const value = number(args, name, otherwise);
  if (!Number.isInteger(value) || value < -1 || (value < 0 && otherwise === undefined))
    throw new ToolMistake(`the argument ${name} must be a whole number`);
  return value;
}

function json(args: ToolArguments, name: string): string {
  if (args[name] === undefined) throw new ToolMistake(`the argument ${name} is missing`);
  return JSON.stringify(args[name]);
}
