import type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ToolResultPart,
} from "../../contract/gen/quire/v1/message.js";
import { parseJson } from "../../domain/json-scan.js";
import type { Findings } from "../findings.js";
import { approvalAnswerText, approvalRequestText, ownOpaque } from "./provider-json.js";

const anthropic = "anthropic";

/** A message's content as blocks of the Messages API; `mark` says so when a system message stands among the others. */
export function anthropicBlocks(message: Message, findings: Findings, mark = false): readonly object[] {
  const blocks = [...message.contextParts, ...message.parts].flatMap((part) =>
    block(part, message.id, findings),
  );
  if (!mark) return blocks;
  findings.add("system messages behind the first, written as user messages", message.id);
  return [text("[system message]"), ...blocks];
}

function block({ content }: Part, where: string, findings: Findings): readonly object[] {
  switch (content?.$case) {
    case "text":
      if (content.value.text !== "") return [text(content.value.text)];
      findings.add("empty texts, left out: the API refuses them", where);
      return [];
    case "thinking": {
      const { text: thinking, signature, provider } = content.value;
      if (provider === anthropic && signature) return [{ type: "thinking", thinking, signature }];
      findings.add("thinking without a signature of Anthropic's, left out", where);
      return [];
    }
    case "toolCall": {
      const { callId, name, argumentsJson } = content.value;
      return [{ type: "tool_use", id: callId, name, input: input(argumentsJson, where, findings) }];
    }
    case "toolResult":
      return [toolResult(content.value)];
    case "image":
      return [{ type: "image", source: source(content.value) }];
    case "file":
      return [document(content.value)];
    case "approvalRequest":
      findings.add("approvals, written as text", where);
      return [text(approvalRequestText(content.value))];
    case "approvalAnswer":
      findings.add("approvals, written as text", where);
      return [text(approvalAnswerText(content.value))];
    case "refusal":
      findings.add("refusals, left out: the format has no place for them", where);
      return [];
    case "opaque": {
      const { provider, kind, data } = content.value;
      const own = ownOpaque(provider, anthropic, data);
      if (own) return [own];
      if (provider === anthropic && kind === "redacted_thinking")
        return [{ type: kind, data: data.toString("utf8") }];
      findings.add(`opaque data of "${provider}", left out`, where);
      return [];
    }
    default:
      return [];
  }
}

function text(value: string): object {
  return { type: "text", text: value };
}

function toolResult({ callId, content, isError }: ToolResultPart): object {
  const blocks = content.flatMap(({ content: piece }): readonly object[] => {
    if (piece?.$case === "text") return [text(piece.value.text)];
    if (piece?.$case === "image") return [{ type: "image", source: source(piece.value) }];
    return piece ? [document(piece.value)] : [];
  });
  return {
    type: "tool_result",
    tool_use_id: callId,
    content: blocks,
    ...(isError ? { is_error: true } : {}),
  };
}

/** The API takes an object only; arguments that are none are kept under a name of their own. */
function input(argumentsJson: string, where: string, findings: Findings): object {
  const value = parseJson(argumentsJson || "{}");
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  findings.add('arguments that are no JSON object, kept under "arguments"', where);
  return { arguments: argumentsJson };
}

function document(file: FilePart): object {
  const isText = file.source?.$case === "data" && file.mediaType === "text/plain";
  const content = isText
    ? { type: "text", media_type: "text/plain", data: file.source.value.toString("utf8") }
    : source(file);
  return { type: "document", source: content, ...(file.name ? { title: file.name } : {}) };
}

function source({ source: given, mediaType }: ImagePart | FilePart): object {
  if (given?.$case === "data")
    return { type: "base64", media_type: mediaType, data: given.value.toString("base64") };
  const uri = given?.value ?? "";
  const id = /^anthropic-file:(.+)$/.exec(uri)?.[1];
  return id ? { type: "file", file_id: id } : { type: "url", url: uri };
}
