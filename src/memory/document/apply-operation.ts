import type { LoroDoc } from "loro-crdt";
import {
  type BlockOperation,
  type BlockSchema,
  type FieldSchema,
  FieldType,
  type Json,
  type Operation,
  type OperationResult,
  type PlainSchema,
} from "../../domain/memory.js";
import { QuireError } from "../../errors/quire-error.js";
import type { Right } from "../permissions.js";
import { fieldProblem, readValue, recordProblem } from "../schema/check-value.js";
import { defaultMaxItems, isComposite, type Section, sectionsOf } from "../schema/sections.js";
import { counterRoot, entriesRoot, fieldsRoot, itemsRoot, listFieldRoot, textRoot } from "./roots.js";
import { setText } from "./set-text.js";

/** What an operation works with: the document, and who does it when. */
export interface OperationContext {
  readonly doc: LoroDoc;
  readonly schema: BlockSchema;
  readonly label: string;
  readonly path: string;
  /** Throws unless the actor may do this here. */
  allow(needs: Right, place: { readonly field?: string; readonly section?: string }): void;
  readonly nowMs: number;
  readonly author: string;
}

type Name = Operation["$case"];

const contractNames: Readonly<Record<Name, string>> = {
  setText: "set_text",
  appendText: "append_text",
  replaceText: "replace_text",
  insertText: "insert_text",
  setField: "set_field",
  appendToField: "append_to_field",
  incrementCounter: "increment_counter",
  pushItem: "push_item",
  insertItem: "insert_item",
  setItem: "set_item",
  deleteItem: "delete_item",
  appendEntry: "append_entry",
};

/** Which schema has which operations. */
const schemaOf: Readonly<Record<Name, PlainSchema["$case"]>> = {
  setText: "text",
  appendText: "text",
  replaceText: "text",
  insertText: "text",
  setField: "map",
  appendToField: "map",
  incrementCounter: "map",
  pushItem: "list",
  insertItem: "list",
  setItem: "list",
  deleteItem: "list",
  appendEntry: "log",
};

const adding: ReadonlySet<Name> = new Set(["appendText", "appendToField", "pushItem", "appendEntry"]);

/** Whether it leaves all that is there as it was, and before what it adds. */
function adds(doc: LoroDoc, section: Section, operation: Operation): boolean {
  if (operation.$case !== "insertText") return adding.has(operation.$case);
  const text = doc.getText(textRoot(section)).toString();
  return endOfLine(text, operation.value.afterLine) === text.length;
}

/** Where in a text what comes after a line begins: its end, where it has fewer lines. */
function endOfLine(text: string, line: number): number {
  let from = 0;
  for (let at = 0; at < line && from < text.length; at++) {
    const end = text.indexOf("\n", from);
    from = end < 0 ? text.length : end + 1;
  }
  return from;
}

/** An operation in a few words, for the list of revisions. */
export function operationWords({ section, operation }: BlockOperation): string {
  if (!operation) return "";
  const name = contractNames[operation.$case];
  const field = "field" in operation.value ? ` ${operation.value.field}` : "";
  return `${name}${field}${section === "" ? "" : ` in ${section}`}`;
}

/** Does one operation. Throws before it changes anything where the schema, a value or a right is missing. */
export function applyOperation(
  context: OperationContext,
  { section: sectionName, operation }: BlockOperation,
): OperationResult {
  const { path } = context;
  if (!operation) throw mismatch(path, "is no operation");
  const section = sectionsOf(context.schema).find(({ name }) => name === sectionName);
  if (!section) {
    const words = isComposite(context.schema)
      ? sectionName === ""
        ? "is required: the block has sections"
        : `the block has no section ${JSON.stringify(sectionName)}`
      : "the block has no sections";
    throw mismatch(`${path}.section`, words);
  }
  const at = `${path}.${contractNames[operation.$case]}`;
  if (schemaOf[operation.$case] !== section.schema.$case)
    throw mismatch(at, `is for a ${schemaOf[operation.$case]}, and this is a ${section.schema.$case}`);
  const needs = adds(context.doc, section, operation) ? "append" : "write";
  context.allow(needs, section.readOnly ? { section: sectionName } : {});
  switch (section.schema.$case) {
    case "text":
      return onText(context, section, operation, at);
    case "map":
      return onMap(context, section, section.schema.value.fields, operation, at);
    case "list":
      return onList(context, section, operation, at);
    case "log":
      return onLog(context, section, operation, at);
  }
}

const done: OperationResult = { matched: true, counter: 0 };

function onText(
  { doc }: OperationContext,
  section: Section,
  operation: Operation,
  at: string,
): OperationResult {
  const text = doc.getText(textRoot(section));
  switch (operation.$case) {
    case "setText":
      setText(text, operation.value.text);
      return done;
    case "appendText":
      text.insert(text.length, operation.value.text);
      return done;
    case "replaceText": {
      const { oldText, newText, once } = operation.value;
      const all = text.toString();
      const from = all.indexOf(oldText);
      if (from < 0) return { ...done, matched: false };
      if (once && all.indexOf(oldText, from + 1) >= 0)
        throw mismatch(`${at}.old_text`, "is there more than once");
      text.delete(from, oldText.length);
      if (newText !== "") text.insert(from, newText);
      return done;
    }
    case "insertText": {
      const all = text.toString();
      const from = endOfLine(all, operation.value.afterLine);
      const isAtEnd = from >= all.length;
      const before = isAtEnd && all !== "" && !all.endsWith("\n") ? "\n" : "";
      text.insert(from, `${before}${operation.value.text}${isAtEnd ? "" : "\n"}`);
      return done;
    }
    default:
      throw mismatch(at, "is not for a text");
  }
}

function onMap(
  context: OperationContext,
  section: Section,
  fields: readonly FieldSchema[],
  operation: Operation,
  at: string,
): OperationResult {
  if (!("field" in operation.value)) throw mismatch(at, "names no field");
  const { field: name } = operation.value;
  const field = fields.find((one) => one.name === name);
  if (!field) throw mismatch(`${at}.field`, `the schema has no field ${JSON.stringify(name)}`);
  if (field.readOnly) context.allow("write", { field: name });
  const { doc } = context;
  switch (operation.$case) {
    case "setField": {
      if (field.type === FieldType.COUNTER)
        throw mismatch(`${at}.field`, `${JSON.stringify(name)} is a counter: it is only counted`);
      const value = jsonValue(operation.value.valueJson, `${at}.value_json`);
      refuse(`${at}.value_json`, fieldProblem(field, value));
      writeField(doc, section, field, value);
      return done;
    }
    case "appendToField": {
      if (field.type !== FieldType.LIST) throw mismatch(`${at}.field`, `${JSON.stringify(name)} is no list`);
      doc
        .getList(listFieldRoot(section, name))
        .push(jsonValue(operation.value.valueJson, `${at}.value_json`));
      return done;
    }
    case "incrementCounter": {
      if (field.type !== FieldType.COUNTER)
        throw mismatch(`${at}.field`, `${JSON.stringify(name)} is no counter`);
      const counter = doc.getCounter(counterRoot(section, name));
      counter.increment(operation.value.by);
      return { ...done, counter: counter.value };
    }
    default:
      throw mismatch(at, "is not for a map");
  }
}

/** Sets a field of a map to a value that fits it; null clears it. A counter is counted to it. */
export function writeField(
  doc: LoroDoc,
  section: Pick<Section, "name">,
  field: FieldSchema,
  value: Json,
): void {
  const { name, type } = field;
  if (type === FieldType.COUNTER) {
    const counter = doc.getCounter(counterRoot(section, name));
    const by = (value === null ? 0 : (value as number)) - counter.value;
    if (by !== 0) counter.increment(by);
  } else if (type === FieldType.LIST) {
    const list = doc.getList(listFieldRoot(section, name));
    if (list.length > 0) list.delete(0, list.length);
    for (const entry of (value ?? []) as Json[]) list.push(entry);
  } else {
    const map = doc.getMap(fieldsRoot(section));
    if (value !== null) map.set(name, value);
    else if (map.get(name) !== undefined) map.delete(name);
  }
}

function onList(
  { doc, label }: OperationContext,
  section: Section,
  operation: Operation,
  at: string,
): OperationResult {
  const { item, maxItems } = section.schema.value as {
    readonly item?: { fields: FieldSchema[] };
    maxItems: number;
  };
  const items = doc.getMovableList(itemsRoot(section));
  const place = (index: number, end: number) => {
    if (index >= end) throw mismatch(`${at}.index`, `is out of range: the list has ${items.length} items`);
    return index;
  };
  const fitting = (json: string) => {
    const value = jsonValue(json, `${at}.value_json`);
    refuse(`${at}.value_json`, recordProblem(item?.fields ?? [], value));
    return value;
  };
  const room = () => {
    const max = maxItems || defaultMaxItems;
    if (items.length < max) return;
    throw new QuireError(
      "BLOCK_LIMIT_EXCEEDED",
      `the list has ${items.length} items, as many as it may have`,
      {
        metadata: { label, limit: "items", max: String(max), given: String(items.length + 1) },
      },
    );
  };
  switch (operation.$case) {
    case "pushItem": {
      const value = fitting(operation.value.valueJson);
      room();
      items.push(value);
      return done;
    }
    case "insertItem": {
      const value = fitting(operation.value.valueJson);
      room();
      items.insert(place(operation.value.index, items.length + 1), value);
      return done;
    }
    case "setItem":
      items.set(place(operation.value.index, items.length), fitting(operation.value.valueJson));
      return done;
    case "deleteItem":
      items.delete(place(operation.value.index, items.length), 1);
      return done;
    default:
      throw mismatch(at, "is not for a list");
  }
}

function onLog(
  context: OperationContext,
  section: Section,
  operation: Operation,
  at: string,
): OperationResult {
  if (operation.$case !== "appendEntry") throw mismatch(at, "is not for a log: it is only added to");
  const { fields, timestamp, agent } = section.schema.value as {
    readonly fields: readonly FieldSchema[];
    readonly timestamp: boolean;
    readonly agent: boolean;
  };
  const given = jsonValue(operation.value.entryJson, `${at}.entry_json`);
  refuse(`${at}.entry_json`, recordProblem(fields, given, ["timestamp", "agent"]));
  const isRecord = typeof given === "object" && given !== null && !Array.isArray(given);
  const record: { readonly [key: string]: Json } = isRecord
    ? (given as { readonly [key: string]: Json })
    : { message: given };
  const stamps = {
    ...(timestamp && record.timestamp === undefined
      ? { timestamp: new Date(context.nowMs).toISOString() }
      : {}),
    ...(agent ? { agent: context.author } : {}),
  };
  const isStamped = Object.keys(stamps).length > 0;
  context.doc.getList(entriesRoot(section)).push(isStamped ? { ...record, ...stamps } : given);
  return done;
}

function jsonValue(json: string, path: string): Json {
  const read = readValue(json);
  if ("problem" in read) throw mismatch(path, read.problem);
  return read.value;
}

function refuse(path: string, problem: string | undefined): void {
  if (problem !== undefined) throw mismatch(path, problem);
}

export function mismatch(path: string, problem: string): QuireError {
  return QuireError.field("BLOCK_SCHEMA_MISMATCH", path, problem);
}
