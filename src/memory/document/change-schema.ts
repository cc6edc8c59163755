import type { LoroDoc } from "loro-crdt";
import { type BlockSchema, type FieldSchema, FieldType, type Json } from "../../domain/memory.js";
import { fieldProblem, recordProblem } from "../schema/check-value.js";
import { defaultMaxItems, type Section, sectionsOf } from "../schema/sections.js";
import { writeField } from "./apply-operation.js";
import { readSection } from "./content.js";
import { entriesRoot, fieldRoot, itemsRoot, textRoot } from "./roots.js";
import { setText } from "./set-text.js";

export interface SchemaChange {
  /** What has no place any more, in words; it was removed. */
  readonly lost: readonly string[];
  /** Whether a field is new, or holds something of another kind than before. */
  readonly added: (section: string, field: string) => boolean;
}

/** Removes what the new schema has no place for. */
export function changeSchema(doc: LoroDoc, before: BlockSchema, after: BlockSchema): SchemaChange {
  const lost: string[] = [];
  const next = new Map(sectionsOf(after).map((section) => [section.name, section]));
  const kept = new Set<string>();
  for (const section of sectionsOf(before)) {
    const now = next.get(section.name);
    if (now?.schema.$case === section.schema.$case) keepWhatFits(doc, section, now, lost, kept);
    else if (clear(doc, section)) lost.push(nameOf(section, section.schema.$case));
  }
  return { lost, added: (section, field) => !kept.has(JSON.stringify([section, field])) };
}

function nameOf({ name }: Section, what: string): string {
  return name === "" ? what : `${what} of section ${name}`;
}

function keepWhatFits(doc: LoroDoc, section: Section, now: Section, lost: string[], kept: Set<string>): void {
  const content = readSection(doc, section);
  if (content.kind === "map") {
    const fields = fieldsOf(section);
    const nextFields = new Map(fieldsOf(now).map((field) => [field.name, field]));
    for (const field of fields) {
      const next = nextFields.get(field.name);
      const value = content.fields.get(field.name) ?? null;
      const isEmpty = value === null || (field.type === FieldType.COUNTER && value === 0);
      const isSamePlace = next !== undefined && fieldRoot(now, next).name === fieldRoot(section, field).name;
      const fits =
        isSamePlace && (value === null || fieldProblem({ ...next, required: false }, value) === undefined);
      if (fits) {
        kept.add(JSON.stringify([section.name, field.name]));
        continue;
      }
      writeField(doc, section, field, null);
      if (!isEmpty) lost.push(nameOf(section, `field ${field.name}`));
    }
  } else if (content.kind === "list") {
    const { item, maxItems } = now.schema.value as {
      readonly item?: { fields: FieldSchema[] };
      maxItems: number;
    };
    const list = doc.getMovableList(itemsRoot(section));
    for (let index = content.items.length - 1; index >= 0; index--) {
      const isOver = index >= (maxItems || defaultMaxItems);
      if (!isOver && recordProblem(item?.fields ?? [], content.items[index]!) === undefined) continue;
      list.delete(index, 1);
      lost.push(nameOf(section, `item ${index + 1}`));
    }
  }
}

function fieldsOf({ schema }: Section): readonly FieldSchema[] {
  return schema.$case === "map" ? schema.value.fields : [];
}

/** Removes all that a section holds; whether there was anything. */
function clear(doc: LoroDoc, section: Section): boolean {
  const content = readSection(doc, section);
  switch (content.kind) {
    case "text":
      setText(doc.getText(textRoot(section)), "");
      return content.text !== "";
    case "map": {
      for (const field of fieldsOf(section)) writeField(doc, section, field, null);
      return [...content.fields.values()].some((value: Json) => value !== 0);
    }
    case "list":
      if (content.items.length > 0) doc.getMovableList(itemsRoot(section)).delete(0, content.items.length);
      return content.items.length > 0;
    case "log":
      if (content.entries.length > 0) doc.getList(entriesRoot(section)).delete(0, content.entries.length);
      return content.entries.length > 0;
  }
}
