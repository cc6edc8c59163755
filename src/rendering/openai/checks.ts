import type { BodyProblems } from "../body-problems.js";
import { isObject, type JsonObject } from "../schema-dialect.js";
import { type NameRule, openaiToolName } from "../tool-names.js";
import { cacheKeyLength, dataUrlType, isImageUrl, isWebUrl, openaiEfforts } from "./content.js";
import { isWithoutItems, refusedAtTop } from "./schema.js";

/** The rules that both of OpenAI's formats share. */

export function checkFields(body: JsonObject, known: ReadonlySet<string>, problems: BodyProblems): void {
  for (const key of Object.keys(body)) {
    problems.check(known.has(key), "unknown_field", key, "is not a field of this request");
  }
}

/** What a request says besides its conversation and tools. */
export function checkSettings(
  body: JsonObject,
  effort: unknown,
  effortPath: string,
  problems: BodyProblems,
): void {
  const { temperature, prompt_cache_key: key, prompt_cache_options: options } = body;
  if (temperature !== undefined && temperature !== null) {
    const inRange = typeof temperature === "number" && temperature >= 0 && temperature <= 2;
    problems.check(inRange, "temperature_range", "temperature", "must be a number from 0 to 2");
  }
  if (effort !== undefined && effort !== null) {
    const known = typeof effort === "string" && openaiEfforts.includes(effort);
    problems.check(known, "effort_unknown", effortPath, `must be one of ${openaiEfforts.join(", ")}`);
    const fixed = typeof temperature === "number" && temperature !== 1 && effort !== "none";
    problems.check(
      !fixed,
      "temperature_with_reasoning",
      "temperature",
      "cannot be set for a model that reasons",
    );
  }
  if (key !== undefined && key !== null) {
    const fits = typeof key === "string" && key.length <= cacheKeyLength;
    problems.check(fits, "cache_key_length", "prompt_cache_key", "must be a string of at most 64 characters");
  }
  if (options === undefined) return;
  const known =
    isObject(options) &&
    [undefined, "implicit", "explicit"].includes(options.mode as string) &&
    [undefined, "30m"].includes(options.ttl as string);
  const message = 'must have the mode "implicit" or "explicit", and no ttl but "30m"';
  problems.check(known, "cache_options", "prompt_cache_options", message);
}

export function checkMaxTokens(value: unknown, path: string, least: number, problems: BodyProblems): void {
  if (value === undefined || value === null) return;
  const holds = Number.isSafeInteger(value) && (value as number) >= least;
  problems.check(holds, "max_tokens_range", path, `must be a whole number of at least ${least}`);
}

/** A function that the model may call, and what is already declared. */
export function checkFunction(
  declaration: JsonObject,
  path: string,
  names: Set<string>,
  problems: BodyProblems,
): void {
  const { name, description, parameters } = declaration;
  if (checkToolName(name, `${path}.name`, problems)) {
    problems.check(!names.has(name), "tool_name_duplicate", `${path}.name`, `"${name}" is declared twice`);
    names.add(name);
  }
  const described = description === undefined || description === null || typeof description === "string";
  problems.check(described, "tool_description", `${path}.description`, "must be a string");
  if (parameters !== undefined && parameters !== null)
    checkParameters(parameters, `${path}.parameters`, problems);
}

export function checkToolName(name: unknown, path: string, problems: BodyProblems): name is string {
  const allowed = typeof name === "string" && openaiToolName.pattern.test(name);
  const message = "must be 1 to 64 letters, digits, underscores and dashes";
  return problems.check(allowed, "tool_name_pattern", path, message);
}

function checkParameters(schema: unknown, path: string, problems: BodyProblems): void {
  if (!isObject(schema) || schema.type !== "object") {
    problems.add("tool_schema_object", path, 'must be a JSON Schema of type "object"');
    return;
  }
  for (const key of refusedAtTop) {
    const message = `cannot have "${key}" at its top level`;
    problems.check(!(key in schema), "tool_schema_top_level", path, message);
  }
  problems.check(
    isObject(schema.properties),
    "tool_schema_properties",
    path,
    "must have properties, even if none",
  );
  problems.check(
    !isWithoutItems(schema),
    "tool_schema_items",
    path,
    "has an array that does not say its items",
  );
}

export function checkCallId(
  id: unknown,
  { maxLength }: NameRule,
  path: string,
  problems: BodyProblems,
): id is string {
  const fits = typeof id === "string" && id.length > 0 && id.length <= maxLength;
  return problems.check(fits, "call_id_length", path, `must be a string of 1 to ${maxLength} characters`);
}

export function checkText(text: unknown, path: string, problems: BodyProblems): void {
  if (!problems.check(typeof text === "string", "text_required", path, "must be a string")) return;
  problems.check(text !== "", "content_empty", path, "must not be empty");
}

export function checkImageUrl(url: unknown, path: string, problems: BodyProblems): void {
  const message = "must be an http(s) URL, or a base64 data URL of a png, jpeg, gif or webp image";
  problems.check(typeof url === "string" && isImageUrl(url), "image_url", path, message);
}

/** A file is its bytes, or the id of an upload, or an address where addresses are taken. */
export function checkFile(
  file: unknown,
  path: string,
  takes: { readonly urls: boolean; readonly onlyPdf: boolean },
  problems: BodyProblems,
): void {
  const fields = ["file_data", "file_id", ...(takes.urls ? ["file_url"] : [])];
  const given = isObject(file)
    ? fields.filter((field) => typeof file[field] === "string" && file[field])
    : [];
  const one = `must have exactly one of ${fields.join(", ")}`;
  if (!problems.check(given.length === 1, "file_source", path, one)) return;
  const { file_data: data, file_url: url } = file as {
    readonly file_data?: string;
    readonly file_url?: string;
  };
  if (given[0] === "file_url") {
    problems.check(isWebUrl(url!), "file_url", `${path}.file_url`, "must be an http(s) URL");
  }
  if (given[0] !== "file_data") return;
  const type = dataUrlType(data!);
  const wanted = takes.onlyPdf ? "a base64 data URL of type application/pdf" : "a base64 data URL";
  const holds = type !== undefined && (!takes.onlyPdf || type === "application/pdf");
  problems.check(holds, "file_data", `${path}.file_data`, `must be ${wanted}`);
}

/** A mark for the cache, which only input can carry. */
export function checkBreakpoint(
  part: JsonObject,
  allowed: boolean,
  path: string,
  problems: BodyProblems,
): void {
  const mark = part.prompt_cache_breakpoint;
  if (mark === undefined) return;
  const at = `${path}.prompt_cache_breakpoint`;
  if (!problems.check(allowed, "breakpoint_place", at, "cannot be on what an assistant said")) return;
  const explicit = isObject(mark) && mark.mode === "explicit";
  problems.check(explicit, "breakpoint_mode", at, 'must be {"mode": "explicit"}');
}
