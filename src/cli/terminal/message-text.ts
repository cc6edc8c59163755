import type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ToolResultPart,
} from "../../contract/gen/quire/v1/message.js";
import { approvalAnswerText, approvalRequestText } from "../../transcripts/export/provider-json.js";
import { printable } from "./printable.js";

/** A message as people read it: who speaks, then its content, indented. */
export function messageText(message: Message): string {
  const role = message.role.replace("MESSAGE_ROLE_", "").toLowerCase();
  const parts = [
    ...message.contextParts.map((part) => `(context) ${partText(part)}`),
    ...message.parts.map(partText),
  ];
  return `${role}\n${indented(printable(parts.join("\n")))}`;
}

function indented(text: string): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? "" : `  ${line}`))
    .join("\n");
}

function partText({ content }: Part): string {
  switch (content?.$case) {
    case "text":
      return content.value.text;
    case "thinking":
      return `(thinking) ${content.value.text || "[not shown by the provider]"}`;
    case "toolCall":
      return `-> ${content.value.name}(${content.value.argumentsJson}) [${content.value.callId}]`;
    case "toolResult":
      return resultText(content.value);
    case "approvalRequest":
      return approvalRequestText(content.value);
    case "approvalAnswer":
      return approvalAnswerText(content.value);
    case "image":
      return `[image: ${sourceText(content.value)}]`;
    case "file":
      return `[file: ${[content.value.name, sourceText(content.value)].filter(Boolean).join(", ")}]`;
    case "opaque":
      return `[${content.value.provider} ${content.value.kind}: ${content.value.data.length} bytes]`;
    case "refusal":
      return `[no answer: ${content.value.reason}] ${content.value.text}`.trimEnd();
    default:
      return "";
  }
}

function resultText({ callId, content, isError }: ToolResultPart): string {
  const pieces = content.map(({ content: piece }) => {
    if (piece?.$case === "text") return piece.value.text;
    return piece ? `[${piece.$case}: ${sourceText(piece.value)}]` : "";
  });
  return `<- ${isError ? "FAILED " : ""}[${callId}] ${pieces.join("\n")}`;
}

function sourceText({ source, mediaType }: ImagePart | FilePart): string {
  if (source?.$case === "uri") return source.value;
  return `${mediaType}, ${source?.value.length ?? 0} bytes`;
}
