import { type BlockSchema, type FieldSchema, FieldType, type PlainSchema } from "../../domain/memory.js";
import { defaultMaxItems, isComposite, sectionsOf } from "./sections.js";

const typeWords: Readonly<Record<FieldType, string>> = {
  [FieldType.UNSPECIFIED]: "unknown",
  [FieldType.TEXT]: "text",
  [FieldType.NUMBER]: "number",
  [FieldType.BOOLEAN]: "boolean",
  [FieldType.LIST]: "list",
  [FieldType.TIMESTAMP]: "timestamp",
  [FieldType.COUNTER]: "counter",
  [FieldType.UNRECOGNIZED]: "unknown",
};

/** A schema as a model reads it: one line, or one for each section. */
export function schemaWords(schema: BlockSchema): string {
  const lines = sectionsOf(schema).map(({ name, description, readOnly, schema: plain }) => {
    const marks = [...(readOnly ? ["read-only"] : []), ...(description === "" ? [] : [oneLine(description)])];
    const words = `${plainWords(plain)}${marks.length > 0 ? ` (${marks.join("; ")})` : ""}`;
    return isComposite(schema) ? `- ${name}: ${words}` : words;
  });
  return isComposite(schema) ? `Schema: sections\n${lines.join("\n")}` : `Schema: ${lines.join("")}`;
}

function plainWords(schema: PlainSchema): string {
  switch (schema.$case) {
    case "text":
      return "text";
    case "map":
      return `map of ${fieldsWords(schema.value.fields)}`;
    case "list": {
      const { item, maxItems } = schema.value;
      const most = maxItems > 0 && maxItems < defaultMaxItems ? `, at most ${maxItems} items` : "";
      return item ? `list of objects with ${fieldsWords(item.fields)}${most}` : `list${most}`;
    }
    case "log": {
      const { fields } = schema.value;
      return fields.length > 0 ? `log of entries with ${fieldsWords(fields)}` : "log";
    }
  }
}

function fieldsWords(fields: readonly FieldSchema[]): string {
  return fields
    .map(({ name, type, required, readOnly, description }) => {
      const marks = [
        typeWords[type],
        ...(required ? ["required"] : []),
        ...(readOnly ? ["read-only"] : []),
        ...(description === "" ? [] : [oneLine(description)]),
      ];
      return `${name} (${marks.join(", ")})`;
    })
    .join(", ");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
