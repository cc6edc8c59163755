import { parseJson } from "../domain/json-scan.js";
import {
  type ApprovalAnswerPart,
  ApprovalDecision,
  type ApprovalRequestPart,
  type FilePart,
  type ImagePart,
  type Message,
  type Part,
  type ToolCallPart,
  type ToolResultPart,
} from "../domain/message.js";
import { fill, type PromptTexts } from "../domain/prompt-texts.js";
import { asWritten } from "./as-written.js";

export { isTextType } from "../domain/text-type.js";

/** Who understands a signature or opaque data. */
export type Family = "anthropic" | "openai" | "google";

/** The fields that parts carry from an answer: those of OpenAI's two formats are not the same. */
export const responsesOrigin = "openai";
export const chatOrigin = "openai-chat";

/** What a provider said of a part besides its content, for a body that goes back to it. */
export function ownFields(part: Part, origin: string): { readonly [key: string]: unknown } | undefined {
  if (part.providerJson === undefined || part.provider !== origin) return undefined;
  return parseObject(part.providerJson);
}

export function familyOf(provider: string): Family | undefined {
  if (provider === "anthropic" || provider === "openai" || provider === "google") return provider;
  const name = provider.toLowerCase();
  if (name.startsWith("anthropic")) return "anthropic";
  if (name.startsWith("openai")) return "openai";
  if (name.startsWith("google") || name.startsWith("gemini") || name.startsWith("vertex")) return "google";
  return undefined;
}

/** Whether a provider takes it as text: several refuse what is only white space. */
export function hasText(text: string): boolean {
  const first = text.charCodeAt(0);
  return (first > 32 && first < 127) || text.trim() !== "";
}

/** A message's parts as they are sent. */
export function sentParts(message: Message): readonly Part[] {
  return message.contextParts.length === 0 ? message.parts : [...message.contextParts, ...message.parts];
}

/** An operator's instruction within the conversation, for providers that take none there. */
export function systemText(texts: PromptTexts, text: string): string {
  return fill(texts["body-instruction"], { text });
}

/** The first characters of a text, never half of one. */
export function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const last = text.charCodeAt(maxLength - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxLength - 1 : maxLength);
}

const typesByExtension: ReadonlyMap<string, string> = new Map([
  ["csv", "text/csv"],
  ["gif", "image/gif"],
  ["html", "text/html"],
  ["jpeg", "image/jpeg"],
  ["jpg", "image/jpeg"],
  ["json", "application/json"],
  ["md", "text/markdown"],
  ["pdf", "application/pdf"],
  ["png", "image/png"],
  ["txt", "text/plain"],
  ["webp", "image/webp"],
]);

/** A media type without its parameters; where none is given, what the name or the address says. Empty for unknown. */
export function mediaTypeOf(part: ImagePart | FilePart): string {
  const given = part.mediaType.split(";", 1)[0]!.trim().toLowerCase();
  if (given !== "") return given === "image/jpg" ? "image/jpeg" : given;
  const address = part.source?.$case === "uri" ? part.source.value.split(/[?#]/, 1)[0]! : "";
  for (const name of ["name" in part ? part.name : "", address]) {
    const type = typesByExtension.get(name.slice(name.lastIndexOf(".") + 1).toLowerCase());
    if (type !== undefined) return type;
  }
  return "";
}

/** A picture in words, for a provider or a place that cannot take it. */
export function imageText(texts: PromptTexts, { mediaType: type }: ImagePart): string {
  return type === "" ? texts["body-image"] : fill(texts["body-image-type"], { type });
}

/** A file in words, for a provider or a place that cannot take it. */
export function fileText(texts: PromptTexts, { name, mediaType }: FilePart): string {
  const facts = [name, mediaType].filter((fact) => fact !== "").join(", ");
  return facts === "" ? texts["body-file"] : fill(texts["body-file-facts"], { facts });
}

/** An approval in words. `tool` is what the approved call calls; empty where it is not known. */
export function approvalText(
  texts: PromptTexts,
  approval: Partial<Pick<ApprovalRequestPart, "prompt">> &
    Partial<Pick<ApprovalAnswerPart, "decision" | "reason">>,
  tool: string,
): string {
  const of = tool === "" ? "" : fill(texts["body-approval-of"], { tool });
  const { prompt, reason } = approval;
  if (approval.decision === undefined) {
    return prompt
      ? fill(texts["body-approval-asked-prompt"], { of, prompt })
      : fill(texts["body-approval-asked"], { of });
  }
  const isApproved = approval.decision === ApprovalDecision.APPROVED;
  const decision = texts[isApproved ? "body-approved" : "body-denied"];
  return reason
    ? fill(texts["body-approval-answered-reason"], { of, decision, reason })
    : fill(texts["body-approval-answered"], { of, decision });
}

/** The text of a result; its pieces on lines of their own. */
export function resultText({ content }: ToolResultPart): string {
  const only = content.length === 1 ? content[0]!.content : undefined;
  if (only?.$case === "text") return only.value.text;
  const texts: string[] = [];
  for (const { content: piece } of content) if (piece?.$case === "text") texts.push(piece.value.text);
  return texts.join("\n");
}

/** Reading a text costs several times what writing it does, and the calls of history are rendered in every turn. */
const readArguments = new WeakMap<ToolCallPart, { readonly [key: string]: unknown }>();

/** A call's arguments. What is not a JSON object is wrapped as it is. */
export function callArguments(call: ToolCallPart): { readonly [key: string]: unknown } {
  const { argumentsJson } = call;
  if (argumentsJson === "" || argumentsJson === "{}") return {};
  let read = readArguments.get(call);
  if (read === undefined) {
    const object = parseObject(argumentsJson);
    read = object ? asWritten(object, argumentsJson) : { _raw: argumentsJson };
    readArguments.set(call, read);
  }
  return read;
}

/** The object that a JSON text holds; undefined where it holds none, or one that is too deep or cannot be written as UTF-8. */
export function parseObject(text: string): { readonly [key: string]: unknown } | undefined {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  // Only half of a surrogate pair is written with such an escape, and providers refuse that.
  if (/\\u[dD]/.test(text) && JSON.stringify(value).includes("\\ud")) return undefined;
  return value as { readonly [key: string]: unknown };
}
