import { type FieldSchema, FieldType, type Json } from "../../domain/memory.js";

/** How deep a value of a block may be nested: every reader walks it. */
const mostLevels = 16;
const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** The value of a JSON text, or what is wrong with it. */
export function readValue(text: string): { readonly value: Json } | { readonly problem: string } {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return { problem: "is not JSON" };
  }
  const problem = shapeProblem(value);
  return problem === undefined ? { value } : { problem };
}

/** What no value may be, whatever its field. */
export function shapeProblem(value: Json, levels = mostLevels): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (levels === 0) return `is nested more than ${mostLevels} levels deep`;
  // A key that sets a prototype where objects are made from it.
  if (Object.hasOwn(value, "__proto__")) return 'has a key "__proto__"';
  for (const inner of Object.values(value)) {
    const problem = shapeProblem(inner, levels - 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** What is wrong with a value of a field, in words that follow its name; undefined where nothing is. Null clears a field. */
export function fieldProblem(field: FieldSchema, value: Json): string | undefined {
  if (value === null) return field.required ? `is required: ${field.name} cannot be null` : undefined;
  switch (field.type) {
    case FieldType.TEXT:
      return typeof value === "string" ? undefined : `must be a text: ${field.name} is of type text`;
    case FieldType.NUMBER:
      return typeof value === "number" ? undefined : `must be a number: ${field.name} is of type number`;
    case FieldType.COUNTER:
      return typeof value === "number" ? undefined : `must be a number: ${field.name} is a counter`;
    case FieldType.BOOLEAN:
      return typeof value === "boolean"
        ? undefined
        : `must be true or false: ${field.name} is of type boolean`;
    case FieldType.LIST:
      return Array.isArray(value) ? undefined : `must be a list: ${field.name} is of type list`;
    case FieldType.TIMESTAMP:
      return typeof value === "string" && rfc3339.test(value) && !Number.isNaN(Date.parse(value))
        ? undefined
        : `must be a time such as "2026-11-17T08:00:00Z": ${field.name} is of type timestamp`;
    default:
      return `has no known type: ${field.name}`;
  }
}

/** What is wrong with an item or an entry that has to be an object of these fields; any value will do where there are none. */
export function recordProblem(
  fields: readonly FieldSchema[],
  value: Json,
  more: readonly string[] = [],
): string | undefined {
  if (fields.length === 0) return undefined;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "must be an object";
  const record = value as { readonly [key: string]: Json };
  for (const key of Object.keys(record)) {
    if (!more.includes(key) && !fields.some(({ name }) => name === key))
      return `has a field ${JSON.stringify(key)} that the schema does not have`;
  }
  for (const field of fields) {
    const given = Object.hasOwn(record, field.name) ? record[field.name]! : null;
    const problem = fieldProblem(field, given);
    if (problem !== undefined) return `${problem} (field ${JSON.stringify(field.name)})`;
  }
  return undefined;
}
