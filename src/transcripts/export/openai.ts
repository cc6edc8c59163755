import {
  type FilePart,
  type ImagePart,
  type Message,
  MessageRole,
  type Part,
  type ToolResultPart,
} from "../../contract/gen/quire/v1/message.js";
import type { Findings } from "../findings.js";
import type { Exporter, Thread } from "./exporter.js";
import { approvalAnswerText, approvalRequestText, jsonList, ownOpaque } from "./provider-json.js";
import { toldApart } from "./told-apart.js";

/** OpenAI chat messages, as a JSON list. Context that was sent before a message's own content stands before it. */
export const exportOpenai: Exporter = (thread, findings) =>
  jsonList(openaiMessages(thread, findings), "[", "]");

async function* openaiMessages(thread: Thread, findings: Findings): AsyncGenerator<object> {
  for await (const message of toldApart(thread.messages())) yield* openaiMessage(message, findings);
}

export function openaiMessage(message: Message, findings: Findings): readonly object[] {
  const parts = [...message.contextParts, ...message.parts];
  const content = chatContent(parts.flatMap((part) => contentPart(part, message.id, findings)));
  switch (message.role) {
    case MessageRole.SYSTEM:
      return [{ role: "system", content }];
    case MessageRole.ASSISTANT: {
      const calls = parts.flatMap((part) => toolCall(part));
      return [
        { role: "assistant", content: content || null, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
      ];
    }
    case MessageRole.TOOL:
      return parts.flatMap((part) =>
        part.content?.$case === "toolResult" ? [toolMessage(part.content.value, message.id, findings)] : [],
      );
    default:
      return [{ role: "user", content }];
  }
}

/** A single text as a string, which every reader of this format takes. */
function chatContent(parts: readonly object[]): string | readonly object[] {
  const [first] = parts;
  if (!first) return "";
  return parts.length === 1 && "text" in first && typeof first.text === "string" ? first.text : parts;
}

function contentPart({ content }: Part, where: string, findings: Findings): readonly object[] {
  const text = (value: string) => [{ type: "text", text: value }];
  switch (content?.$case) {
    case "text":
      return text(content.value.text);
    case "image":
      return [{ type: "image_url", image_url: { url: url(content.value) } }];
    case "file":
      return [{ type: "file", file: filePart(content.value) }];
    case "approvalRequest":
      findings.add("approvals, written as text", where);
      return text(approvalRequestText(content.value));
    case "approvalAnswer":
      findings.add("approvals, written as text", where);
      return text(approvalAnswerText(content.value));
    case "thinking":
      findings.add("thinking, left out: the format has no place for it", where);
      return [];
    case "refusal":
      return content.value.text === "" ? [] : [{ type: "refusal", refusal: content.value.text }];
    case "opaque": {
      const own = ownOpaque(content.value.provider, "openai", content.value.data);
      if (own) return [own];
      findings.add(`opaque data of "${content.value.provider}", left out`, where);
      return [];
    }
    default:
      return [];
  }
}

function toolCall({ content }: Part): readonly object[] {
  if (content?.$case !== "toolCall") return [];
  const { callId, name, argumentsJson } = content.value;
  return [{ id: callId, type: "function", function: { name, arguments: argumentsJson } }];
}

function toolMessage(result: ToolResultPart, where: string, findings: Findings): object {
  if (result.isError) findings.add("marks of failed tool results, left out", where);
  const texts = result.content.map(({ content }) => {
    if (content?.$case === "text") return content.value.text;
    findings.add("images and files in tool results, named in the text", where);
    return content ? `[${content.$case}: ${describe(content.value)}]` : "";
  });
  return { role: "tool", tool_call_id: result.callId, content: texts.join("\n") };
}

function url({ source, mediaType }: ImagePart | FilePart): string {
  if (source?.$case === "uri") return source.value;
  return source ? `data:${mediaType};base64,${source.value.toString("base64")}` : "";
}

function filePart(file: FilePart): object {
  const name = file.name ? { filename: file.name } : {};
  const id = file.source?.$case === "uri" ? /^openai-file:(.+)$/.exec(file.source.value)?.[1] : undefined;
  return id ? { ...name, file_id: id } : { ...name, file_data: url(file) };
}

function describe({ source, mediaType }: ImagePart | FilePart): string {
  if (source?.$case === "uri") return source.value;
  return `${mediaType}, ${source?.value.length ?? 0} bytes`;
}
