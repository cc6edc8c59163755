import { parseJson } from "../../domain/json-scan.js";
import type { Part, ToolCallPart, ToolResultPart } from "../../domain/message.js";
import { fill, type PromptTexts } from "../../domain/prompt-texts.js";
import type { FoldedTurn } from "../plan/summary-task.js";
import { clipChars, oneLine } from "./clip.js";
import { sentencesIn } from "./sentences.js";

/** Names and paths are whole up to here; sentences are cut earlier. */
const nameChars = 256;
const argumentChars = 80;
const callChars = 400;
const resultChars = 240;
const parsedChars = 65_536;
const telling =
  /(?:^|_)(?:id|status|state|error|message|name|total|amount|price|cost|date|number|email|result|count|code|path|url)s?$/iu;

/** The results of the turns' calls, by call. */
export function resultsByCall(turns: readonly FoldedTurn[]): Map<string, ToolResultPart> {
  const results = new Map<string, ToolResultPart>();
  for (const { messages } of turns)
    for (const { parts } of messages)
      for (const { content } of parts)
        if (content?.$case === "toolResult") results.set(content.value.callId, content.value);
  return results;
}

/** A call and what it gave, as one line: `get_order(id=W123) -> status pending`. */
export function toolLine(
  texts: PromptTexts,
  { name, argumentsJson }: ToolCallPart,
  result: ToolResultPart | undefined,
): string {
  const call = `${name}(${argumentsOf(argumentsJson)})`;
  if (result === undefined) return fill(texts["extract-no-answer"], { call });
  const answer = resultOf(texts, result);
  const isSilent = answer === "";
  if (result.isError)
    return fill(texts[isSilent ? "extract-failed-silently" : "extract-failed"], { call, answer });
  return fill(texts[isSilent ? "extract-done" : "extract-answer"], { call, answer });
}

/** Whether a call changes something, told by its name. */
export function changesSomething({ name }: ToolCallPart): boolean {
  return /(?:^|[_.-])(?:create|update|delete|book|cancel|send|write|edit|modify|add|remove|set|pay|refund|transfer|move|rename|apply|commit|push|deploy|submit|insert|replace|install)/iu.test(
    name.slice(0, 128).replace(/(?<=\p{Ll})(?=\p{Lu})/gu, "_"),
  );
}

/** What the result says in text, whole. */
export function resultText(result: ToolResultPart): string {
  return result.content
    .map(({ content }) => (content?.$case === "text" ? content.value.text : ""))
    .filter((text) => text !== "")
    .join("\n");
}

/** What a file or image is called in a summary; empty where it has no name. */
export function attachmentLine({ content }: Part): string {
  if (content?.$case === "file") return oneLine(clipChars(content.value.name, 200));
  if (content?.$case === "image" && content.value.source?.$case === "uri")
    return oneLine(clipChars(content.value.source.value, 200));
  return "";
}

function argumentsOf(json: string): string {
  const parsed = parse(json);
  if (parsed === null || typeof parsed !== "object")
    return clipChars(oneLine(unescaped(json.slice(0, 400))), callChars);
  const shown = Object.entries(parsed).map(([key, value]) => `${key}=${shownValue(value)}`);
  return clipChars(shown.join(", "), callChars);
}

function resultOf(texts: PromptTexts, result: ToolResultPart): string {
  const text = resultText(result);
  const parsed = parse(text);
  if (parsed !== null && typeof parsed === "object") return clipChars(digest(texts, parsed), resultChars);
  for (const sentence of sentencesIn(text.slice(0, 4_000))) return clipChars(sentence.text, resultChars);
  return "";
}

function digest(texts: PromptTexts, value: object): string {
  const itemsOf = (list: readonly unknown[]) => fill(texts["extract-items"], { count: list.length });
  if (Array.isArray(value)) {
    const first: unknown = value[0];
    const sample =
      first !== null && typeof first === "object"
        ? digest(texts, first)
        : value
            .slice(0, 8)
            .map((item) => shownValue(item))
            .join(", ");
    return `${itemsOf(value)}${sample === "" ? "" : `: ${sample}`}`;
  }
  const scalars: (readonly [string, unknown])[] = [];
  for (const [key, inner] of Object.entries(value)) {
    if (Array.isArray(inner)) scalars.push([key, itemsOf(inner)]);
    else if (inner !== null && typeof inner === "object")
      for (const [name, leaf] of Object.entries(inner))
        if (leaf !== null && typeof leaf !== "object") scalars.push([name, leaf]);
        else if (scalars.length > 64) break;
    if (inner !== null && typeof inner !== "object") scalars.push([key, inner]);
    if (scalars.length > 64) break;
  }
  const isTelling = ([key]: readonly [string, unknown]) => telling.test(key.slice(-40));
  return [...scalars.filter(isTelling), ...scalars.filter((entry) => !isTelling(entry))]
    .map(([key, leaf]) => `${key} ${shownValue(leaf)}`)
    .join(", ")
    .slice(0, resultChars * 2);
}

/** A value without the quotes and escapes of JSON. */
function shownValue(value: unknown, depth = 0): string {
  if (value !== null && typeof value === "object") {
    if (depth === 2) return "…";
    const inner = Array.isArray(value)
      ? value.slice(0, 8).map((item) => shownValue(item, depth + 1))
      : Object.entries(value)
          .slice(0, 8)
          .map(([key, item]) => `${key}=${shownValue(item, depth + 1)}`);
    const text = inner.join(", ");
    return Array.isArray(value) ? `[${text}]` : `{${text}}`;
  }
  const text = oneLine(String(value).slice(0, 400));
  return clipChars(text, /\s/u.test(text) ? argumentChars : nameChars);
}

/** What was cut is no JSON any more; its escapes are no words. */
export function unescaped(json: string): string {
  return json.replace(/\\[nrt]/gu, " ").replace(/\\(["\\/])/gu, "$1");
}

function parse(text: string): unknown {
  if (text.length > parsedChars || !/^\s{0,16}[[{]/u.test(text)) return null;
  return parseJson(text) ?? null;
}
