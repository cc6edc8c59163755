import type { Tool } from "../../domain/workspace.js";
import { inputSchema, isObject, type JsonObject } from "../schema-dialect.js";

/** What OpenAI refuses at the top of a function's schema. */
export const refusedAtTop = ["oneOf", "anyOf", "allOf", "enum", "const", "not"] as const;

/** Where a schema holds values, which only look like schemas. */
const values: ReadonlySet<string> = new Set(["default", "examples", "example", "enum", "const"]);

/** Where a schema holds others under names that are not its own words. */
const tables: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs", "definitions"]);

const parameters = new WeakMap<Tool, JsonObject>();

/** A tool's input schema as OpenAI takes it: with properties, and with items in every array. */
export function openaiParameters(tool: Tool): JsonObject {
  const known = parameters.get(tool);
  if (known !== undefined) return known;
  const schema = inputSchema(tool);
  const top = refusedAtTop.some((key) => key in schema) ? withoutRefused(schema) : schema;
  const object = isObject(top.properties) ? top : { ...top, properties: {} };
  const made = tool.inputSchemaJson.includes('"array"') ? (withItems(object) as JsonObject) : object;
  parameters.set(tool, made);
  return made;
}

function withoutRefused(schema: JsonObject): JsonObject {
  const kept: Record<string, unknown> = { ...schema };
  for (const key of refusedAtTop) delete kept[key];
  return kept;
}

/** Whether there is an array in a schema that does not say what is in it. */
export function isWithoutItems(schema: unknown): boolean {
  return withItems(schema) !== schema;
}

/** The schema itself where nothing is missing. `isNamed` says that it is a table of schemas by names of any kind. */
function withItems(schema: unknown, isNamed = false): unknown {
  if (Array.isArray(schema)) {
    const entries = schema.map((entry) => withItems(entry));
    return entries.some((entry, at) => entry !== schema[at]) ? entries : schema;
  }
  if (!isObject(schema)) return schema;
  let made: Record<string, unknown> | undefined;
  for (const key of Object.keys(schema)) {
    const value = schema[key];
    if (typeof value !== "object" || value === null) continue;
    const whole = values.has(key) && !isNamed ? value : withItems(value, tables.has(key) && !isNamed);
    if (whole === value) continue;
    made ??= { ...schema };
    made[key] = whole;
  }
  if (isNamed) return made ?? schema;
  return isArraySchema(schema) && !("items" in schema)
    ? { ...(made ?? schema), items: {} }
    : (made ?? schema);
}

function isArraySchema({ type }: JsonObject): boolean {
  return type === "array" || (Array.isArray(type) && type.includes("array"));
}
