import type { Tool } from "../domain/workspace.js";
import { parseObject } from "./messages.js";

export type JsonObject = { readonly [key: string]: unknown };

const noInput: JsonObject = { type: "object", properties: {} };
const combiners = ["allOf", "anyOf", "oneOf"] as const;
/** What Anthropic takes as the name of a property. */
export const anthropicProperty = /^[a-zA-Z0-9_.-]{1,64}$/;

const schemas = new WeakMap<Tool, JsonObject>();
const anthropicSchemas = new WeakMap<Tool, JsonObject>();

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A tool's input schema as providers take it: an object's, without choices between whole schemas at the top. */
export function inputSchema(tool: Tool): JsonObject {
  return remembered(schemas, tool, () => objectSchema(parseObject(tool.inputSchemaJson)));
}

/** The same without the properties that Anthropic cannot name. */
export function anthropicInputSchema(tool: Tool): JsonObject {
  return remembered(anthropicSchemas, tool, () => {
    const schema = inputSchema(tool);
    const properties = propertiesOf(schema);
    const names = Object.keys(properties);
    if (names.every((name) => anthropicProperty.test(name))) return schema;
    const kept = names.filter((name) => anthropicProperty.test(name));
    const required = stringsOf(schema.required).filter((name) => anthropicProperty.test(name));
    return { ...schema, properties: pick(properties, kept), required };
  });
}

function remembered(cache: WeakMap<Tool, JsonObject>, tool: Tool, make: () => JsonObject): JsonObject {
  const known = cache.get(tool);
  if (known !== undefined) return known;
  const made = make();
  cache.set(tool, made);
  return made;
}

function objectSchema(given: JsonObject | undefined): JsonObject {
  if (given === undefined) return noInput;
  const { type } = given;
  const isForObjects =
    type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
  if (!isForObjects) return noInput;
  if (type === "object" && isWellFormed(given)) return given;
  const { type: _, properties, required, ...rest } = flattened(given);
  const names = [...new Set(stringsOf(required))];
  return {
    type: "object",
    properties: isObject(properties) ? properties : {},
    ...(names.length > 0 ? { required: names } : {}),
    ...rest,
  };
}

function isWellFormed(schema: JsonObject): boolean {
  if (combiners.some((combiner) => combiner in schema)) return false;
  if (schema.properties !== undefined && !isObject(schema.properties)) return false;
  const names = stringsOf(schema.required);
  if (schema.required === undefined) return true;
  return Array.isArray(schema.required) && schema.required.length === new Set(names).size;
}

/** Choices at the top, as one schema: every property of any choice; what all of them require stays required. */
function flattened(schema: JsonObject): JsonObject {
  const { allOf, anyOf, oneOf, ...rest } = schema;
  const parts = objectsOf(allOf);
  const choices = [objectsOf(anyOf), objectsOf(oneOf)];
  const all = [...parts, ...choices.flat(), rest];
  const properties = Object.fromEntries(all.flatMap((part) => Object.entries(propertiesOf(part))));
  const required = [rest, ...parts].flatMap((part) => stringsOf(part.required));
  return { ...rest, properties, required: [...required, ...choices.flatMap(requiredByAll)] };
}

function requiredByAll(choices: readonly JsonObject[]): readonly string[] {
  const [first, ...others] = choices.map((choice) => new Set(stringsOf(choice.required)));
  return [...(first ?? [])].filter((name) => others.every((names) => names.has(name)));
}

function propertiesOf({ properties }: JsonObject): JsonObject {
  return isObject(properties) ? properties : {};
}

function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function stringsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

function pick(value: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.map((key) => [key, value[key]]));
}
