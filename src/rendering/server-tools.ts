import type { OpaquePart } from "../domain/message.js";
import { fill, type PromptTexts } from "../domain/prompt-texts.js";
import { cut, parseObject } from "./part-words.js";

/** Calls of tools that a provider runs itself. Their results are left out: they are long, and partly encrypted. */
const calls: ReadonlySet<string> = new Set(
  `server_tool_use mcp_tool_use web_search_call file_search_call code_interpreter_call image_generation_call mcp_call
  executableCode executable_code toolCall tool_call`.split(/\s+/),
);
const inputs = ["input", "action", "queries", "code", "arguments", "args"] as const;
const maxInputLength = 500;
/** Beyond this an item holds media, and is not read for a line of text. */
const maxReadBytes = 64 * 1024;

/** What another provider's model did with a tool of that provider, in words; undefined for opaque data of other kinds. */
export function serverToolText(texts: PromptTexts, { kind, data }: OpaquePart): string | undefined {
  if (!calls.has(kind)) return undefined;
  const whole = data.length <= maxReadBytes ? parseObject(data.toString("utf8")) : undefined;
  const inner = whole?.[kind];
  const item = (typeof inner === "object" && inner !== null ? inner : whole) as
    | Record<string, unknown>
    | undefined;
  const name = typeof item?.name === "string" ? item.name : kind.replace(/_call$/, "");
  const given = inputs.map((field) => item?.[field]).find((value) => value !== undefined && value !== null);
  const input = typeof given === "string" ? given : given === undefined ? "" : JSON.stringify(given);
  return fill(texts["body-server-tool"], { name, input: cut(input, maxInputLength) }).trimEnd();
}
