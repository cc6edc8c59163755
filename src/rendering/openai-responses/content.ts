import type { FilePart, Part, PartContent, ToolResultPart } from "../../domain/message.js";
import type { PromptTexts } from "../../domain/prompt-texts.js";
import { hasText, imageText, resultText } from "../messages.js";
import {
  fileInWords,
  holdsText,
  imageUrl,
  inlineFile,
  isWebUrl,
  outputText,
  ownOpaque,
  uploadedId,
} from "../openai/content.js";
import type { JsonObject } from "../schema-dialect.js";
import { inputPartProblems } from "./validator.js";

/** What can carry a mark for the cache. */
export type Carrier = InputMessage | CallOutput;

interface InputMessage {
  readonly role: string;
  content: string | JsonObject[];
}

interface CallOutput {
  readonly type: "function_call_output";
  readonly call_id: string;
  output: string | JsonObject[];
}

/** Files whose bytes are taken as they are; text is sent as text. */
const documentTypes =
  /^application\/(pdf|msword|rtf|vnd\.ms-(excel|powerpoint)|vnd\.(openxmlformats-officedocument|oasis\.opendocument)\.\S+)$/;

/** A single text as a string; undefined for nothing that could be sent. */
export function contentOf(
  texts: PromptTexts,
  parts: readonly Part[],
  role: string,
): string | JsonObject[] | undefined {
  const only = parts.length === 1 ? parts[0]!.content : undefined;
  if (only?.$case === "text") return hasText(only.value.text) ? only.value.text : undefined;
  const content: JsonObject[] = [];
  for (const { content: part } of parts)
    if (part !== undefined) content.push(...inputParts(texts, part, role));
  return content.length === 0 ? undefined : content;
}

export function outputOf(texts: PromptTexts, result: ToolResultPart): string | JsonObject[] {
  const text = outputText(texts, result);
  if (result.content.every(({ content }) => content === undefined || content.$case === "text")) return text;
  const output: JsonObject[] =
    hasText(resultText(result)) || result.isError ? [{ type: "input_text", text }] : [];
  for (const { content } of result.content) {
    if (content !== undefined && content.$case !== "text") output.push(...inputParts(texts, content, "user"));
  }
  return output;
}

export function inputParts(texts: PromptTexts, content: PartContent, role: string): readonly JsonObject[] {
  switch (content.$case) {
    case "text":
      return hasText(content.value.text) ? [{ type: "input_text", text: content.value.text }] : [];
    case "image": {
      const url = role === "user" ? imageUrl(content.value) : undefined;
      const id = role === "user" ? uploadedId(content.value) : undefined;
      if (url !== undefined) return [{ type: "input_image", detail: "auto", image_url: url }];
      if (id !== undefined) return [{ type: "input_image", detail: "auto", file_id: id }];
      return [{ type: "input_text", text: imageText(texts, content.value) }];
    }
    case "file":
      return [
        role === "user"
          ? inputFile(texts, content.value)
          : { type: "input_text", text: fileInWords(texts, content.value) },
      ];
    case "opaque": {
      const own = ownOpaque(content);
      return own && inputPartProblems(own, role).length === 0 ? [own] : [];
    }
    default:
      return [];
  }
}

/** Whether an image or a file is sent as what it is, or as the text that it holds. */
export function takesMedia(texts: PromptTexts, { content }: Part): boolean {
  if (content?.$case === "image")
    return imageUrl(content.value) !== undefined || uploadedId(content.value) !== undefined;
  if (content?.$case !== "file" || holdsText(content.value)) return true;
  return inputFile(texts, content.value).type !== "input_text";
}

function inputFile(texts: PromptTexts, file: FilePart): JsonObject {
  const id = uploadedId(file);
  if (id !== undefined) return { type: "input_file", file_id: id };
  const inline = inlineFile(file, (type) => documentTypes.test(type));
  if (inline) return { type: "input_file", ...inline };
  if (file.source?.$case === "uri" && isWebUrl(file.source.value)) {
    return { type: "input_file", file_url: file.source.value };
  }
  return { type: "input_text", text: fileInWords(texts, file) };
}

export function mark(carrier: Carrier): void {
  const content = "role" in carrier ? carrier.content : carrier.output;
  const parts = typeof content === "string" ? [{ type: "input_text", text: content }] : content;
  const marked = [...parts.slice(0, -1), { ...parts.at(-1), prompt_cache_breakpoint: { mode: "explicit" } }];
  if ("role" in carrier) carrier.content = marked;
  else carrier.output = marked;
}
