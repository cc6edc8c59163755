import type { LoroDoc } from "loro-crdt";
import { type BlockSchema, FieldType, type Json } from "../../domain/memory.js";
import { isComposite, type Section, sectionsOf } from "../schema/sections.js";
import { counterRoot, entriesRoot, fieldsRoot, itemsRoot, listFieldRoot, textRoot } from "./roots.js";

/** What a section holds. */
export type SectionContent =
  | { readonly kind: "text"; readonly text: string }
  /** By the name of the field; those that hold nothing are left out. */
  | { readonly kind: "map"; readonly fields: ReadonlyMap<string, Json> }
  | { readonly kind: "list"; readonly items: readonly Json[] }
  /** Oldest first. */
  | { readonly kind: "log"; readonly entries: readonly Json[] };

/** What a section holds, read from the document. The order of an object's keys means nothing there: see `sortedKeys`. */
export function readSection(doc: LoroDoc, section: Section): SectionContent {
  const { schema } = section;
  switch (schema.$case) {
    case "text":
      return { kind: "text", text: doc.getText(textRoot(section)).toString() };
    case "map": {
      const values = doc.getMap(fieldsRoot(section)).toJSON() as Record<string, Json>;
      const fields = new Map<string, Json>();
      for (const { name, type } of schema.value.fields) {
        if (type === FieldType.COUNTER) fields.set(name, doc.getCounter(counterRoot(section, name)).value);
        else if (type === FieldType.LIST) {
          const entries = doc.getList(listFieldRoot(section, name)).toJSON() as Json[];
          if (entries.length > 0) fields.set(name, entries);
        } else if (Object.hasOwn(values, name) && values[name] !== null) fields.set(name, values[name]!);
      }
      return { kind: "map", fields };
    }
    case "list":
      return { kind: "list", items: doc.getMovableList(itemsRoot(section)).toJSON() as Json[] };
    case "log":
      return { kind: "log", entries: doc.getList(entriesRoot(section)).toJSON() as Json[] };
  }
}

/** All of a block's content, section by section. */
export function readContent(doc: LoroDoc, schema: BlockSchema): readonly SectionContent[] {
  return sectionsOf(schema).map((section) => readSection(doc, section));
}

/** The content as JSON, with keys in order: the same content gives the same text. */
export function contentJson(schema: BlockSchema, contents: readonly SectionContent[]): string {
  const values = contents.map(plainValue);
  if (!isComposite(schema)) return JSON.stringify(values[0] ?? null);
  return JSON.stringify(
    Object.fromEntries(sectionsOf(schema).map(({ name }, index) => [name, values[index]!])),
  );
}

function plainValue(content: SectionContent): Json {
  switch (content.kind) {
    case "text":
      return content.text;
    case "map":
      return Object.fromEntries([...content.fields].map(([name, value]) => [name, sortedKeys(value)]));
    case "list":
      return content.items.map(sortedKeys);
    case "log":
      return content.entries.map(sortedKeys);
  }
}

/** The value with the keys of its objects in order. */
export function sortedKeys(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sortedKeys);
  const record = value as { readonly [key: string]: Json };
  return Object.fromEntries(
    Object.keys(record)
      .sort()
      .map((key) => [key, sortedKeys(record[key]!)]),
  );
}
