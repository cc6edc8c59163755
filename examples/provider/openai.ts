import { type Json, onlyFields, Refused, require } from "./provider.js";
import type { Said } from "./script.js";

/** What both of OpenAI's APIs refuse alike. */

export function checkModel(body: Json): void {
  require(/^(gpt-|o\d)/.test(body.model), `The model '${body.model}' does not exist`);
  for (const name of ["temperature", "top_p"]) {
    require(body[name] === undefined, `Unsupported parameter: '${name}' is not supported with this model.`);
  }
  const key = body.prompt_cache_key;
  require(key === undefined || key.length <= 64, "Invalid 'prompt_cache_key': string too long");
}

export function checkFunction(tool: Json, path: string): void {
  onlyFields(tool, "type name description parameters strict", path);
  checkName(tool.name, path);
  require(tool.parameters?.type ===
    "object", `Invalid schema for function '${tool.name}': schema must be a JSON Schema of 'type: "object"'`);
}

export function checkName(name: unknown, path: string): void {
  require(typeof name === "string" &&
    /^[a-zA-Z0-9_-]{1,64}$/.test(name), `Invalid '${path}.name': string does not match pattern`);
}

export function checkId(id: unknown, path: string, maxLength: number): void {
  require(typeof id === "string" && id !== "", `Missing required parameter: '${path}'`);
  require(id.length <=
    maxLength, `Invalid '${path}': string too long. Expected a string with maximum length ${maxLength}`);
}

export function openaiTooLong(tokens: number, limit: number | undefined): Refused {
  const message =
    limit === undefined
      ? "Your input exceeds the context window of this model. Please adjust your input and try again."
      : `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${tokens} tokens.`;
  return new Refused(message, "context_length_exceeded");
}

export function openaiError({ message, code }: Refused): Json {
  return { error: { message, type: "invalid_request_error", param: null, code } };
}

/** OpenAI keeps whatever it is sent. */
export function plainPieces(parts: readonly Json[]): readonly { text: string; isMarked: boolean }[] {
  return parts.map((part) => ({ text: JSON.stringify(withoutMarks(part)), isMarked: true }));
}

function withoutMarks(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([key]) => key !== "prompt_cache_breakpoint");
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutMarks(field)]));
}

/** What a content says, in any of its forms: each part of it for itself, but a tool's result as one. */
export function saidIn(role: Said["role"], content: Json): readonly Said[] {
  const texts: string[] = Array.isArray(content)
    ? content.map(({ text = "" }: Json) => text)
    : [typeof content === "string" ? content : ""];
  return (role === "tool" ? [texts.join("\n")] : texts).map((text) => ({ role, text }));
}
