import { sha256 } from "../../domain/hash.js";
import type { FilePart, ImagePart, PartContent, ToolResultPart } from "../../domain/message.js";
import { fill, type PromptTexts } from "../../domain/prompt-texts.js";
import { asWritten } from "../as-written.js";
import {
  familyOf,
  fileText,
  isTextType,
  mediaTypeOf,
  type PairedCall,
  parseObject,
  resultText,
} from "../messages.js";
import type { CacheBreakpoint, RenderInput, Thinking } from "../render-input.js";

/** What both of OpenAI's formats share. */

export const openaiEfforts: readonly string[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

export const cacheKeyLength = 64;

const fileIdUri = /^openai-file:(.+)$/s;
const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
export const pdfType = "application/pdf";

/** How hard to think: the given word where OpenAI knows it, else one that fits the budget. */
export function effortOf(thinking: Thinking | undefined): string | undefined {
  if (!thinking?.enabled) return undefined;
  if (openaiEfforts.includes(thinking.effort)) return thinking.effort;
  if (!(thinking.budgetTokens > 0)) return "medium";
  if (thinking.budgetTokens <= 2_048) return "low";
  return thinking.budgetTokens <= 16_384 ? "medium" : "high";
}

/** Only without reasoning: reasoning models refuse it. */
export function temperatureOf({ temperature, thinking }: RenderInput): number | undefined {
  if (thinking?.enabled || temperature === undefined || Number.isNaN(temperature)) return undefined;
  return Math.min(2, Math.max(0, temperature));
}

export function maxTokensOf({ maxTokens }: RenderInput, least: number): number | undefined {
  return maxTokens > 0
    ? Math.min(Number.MAX_SAFE_INTEGER, Math.max(least, Math.floor(maxTokens)))
    : undefined;
}

export function cacheKeyOf({ cacheKey }: RenderInput): string | undefined {
  if (cacheKey === "") return undefined;
  return cacheKey.length <= cacheKeyLength ? cacheKey : sha256(Buffer.from(cacheKey)).toString("hex");
}

export function isImageUrl(url: string): boolean {
  if (!url.startsWith("data:")) return isWebUrl(url);
  return imageTypes.has(dataUrlType(url) ?? "");
}

/** The media type of a data URL with base64 in it; undefined for anything else. */
export function dataUrlType(url: string): string | undefined {
  const head = /^data:([^;,\s]+);base64,/.exec(url);
  if (!head) return undefined;
  const bytes = /[A-Za-z0-9+/]+={0,2}$/y;
  bytes.lastIndex = head[0].length;
  return bytes.test(url) ? head[1] : undefined;
}

export function isWebUrl(url: string): boolean {
  return /^https?:\/\/[^\s/]/i.test(url);
}

/** An image's address, or the image itself as one; undefined for what OpenAI does not look at. */
export function imageUrl(image: ImagePart): string | undefined {
  const { source } = image;
  if (source?.$case === "uri") return isImageUrl(source.value) ? source.value : undefined;
  if (source === undefined || source.value.length === 0) return undefined;
  const type = mediaTypeOf(image);
  return imageTypes.has(type) ? `data:${type};base64,${source.value.toString("base64")}` : undefined;
}

/** The id of something that was uploaded to OpenAI before. */
export function uploadedId({ source }: ImagePart | FilePart): string | undefined {
  return source?.$case === "uri" ? fileIdUri.exec(source.value)?.[1] : undefined;
}

/** A file with its bytes, where its type is one of those that are taken as they are. */
export function inlineFile(
  file: FilePart,
  takes: (type: string) => boolean,
): { readonly filename: string; readonly file_data: string } | undefined {
  const { source, name } = file;
  if (source === undefined) return undefined;
  const filename = name || "file";
  if (source.$case === "uri") {
    return takes(dataUrlType(source.value) ?? "") ? { filename, file_data: source.value } : undefined;
  }
  const type = mediaTypeOf(file);
  if (source.value.length === 0 || !takes(type)) return undefined;
  return { filename, file_data: `data:${type};base64,${source.value.toString("base64")}` };
}

/** Whether a file in words is all of it. */
export function holdsText(file: FilePart): boolean {
  return file.source?.$case === "data" && isTextType(mediaTypeOf(file));
}

/** A file in words: its content where that is text, else its name and where it is. */
export function fileInWords(texts: PromptTexts, file: FilePart): string {
  const { source } = file;
  const title = fileText(texts, file);
  if (source?.$case === "data") {
    return holdsText(file) ? `${title}\n${source.value.toString("utf8")}` : title;
  }
  return source && isWebUrl(source.value) ? `${title} ${source.value}` : title;
}

/** OpenAI's own data, as it was given; undefined for what is another's or cannot be sent. */
export function ownOpaque(content: PartContent): { readonly [key: string]: unknown } | undefined {
  if (content.$case !== "opaque" || familyOf(content.value.provider) !== "openai") return undefined;
  const text = content.value.data.toString("utf8");
  const own = parseObject(text);
  return own && asWritten(own, text);
}

/** A call's arguments as the model wrote them, or as JSON where they are not a JSON object. */
export function argumentsText({ call: { argumentsJson } }: PairedCall): string {
  if (argumentsJson === "") return "{}";
  return parseObject(argumentsJson) ? argumentsJson : JSON.stringify({ _raw: argumentsJson });
}

/** A result in words. OpenAI has no mark for a failure. */
export function outputText(texts: PromptTexts, result: ToolResultPart): string {
  const text = resultText(result);
  if (!result.isError) return text === "" ? texts["body-no-output"] : text;
  if (text === "") return texts["body-failed-silently"];
  return text === texts["no-result"] ? text : fill(texts["body-failed"], { text });
}

/** Where a cache should keep what comes before. Only input can carry a mark: one on an assistant's words moves before them. */
export class CacheMarks<Carrier> {
  private readonly seen: { readonly index: number; readonly carrier: Carrier }[] = [];

  constructor(private readonly breakpoints: readonly CacheBreakpoint[]) {}

  get ofSystem(): boolean {
    return this.breakpoints.some(({ after }) => after !== "message");
  }

  /** Takes note of what was made from a message, in the order of the body; the system prompt is -1. */
  see(index: number, carrier: Carrier): void {
    if (this.breakpoints.length > 0) this.seen.push({ index, carrier });
  }

  /** Marks what is to be marked, and says whether anything was. */
  place(mark: (carrier: Carrier) => void): boolean {
    const marked = new Set<Carrier>();
    for (const breakpoint of this.breakpoints) {
      const limit = breakpoint.after === "message" ? breakpoint.messageIndex : -1;
      const last = this.seen.findLast(({ index }) => index <= limit);
      if (last !== undefined) marked.add(last.carrier);
    }
    for (const carrier of marked) mark(carrier);
    return marked.size > 0;
  }
}
