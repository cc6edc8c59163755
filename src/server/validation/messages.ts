import { InjectedContext } from "../../contract/gen/quire/v1/injected_context.js";
import type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ToolResultContent,
} from "../../contract/gen/quire/v1/message.js";
import type { Checker } from "./checker.js";

const contentBytes = 4 * 1024 * 1024;
const inlineBytes = 1024 * 1024;
const noteBytes = 65_536;
const maxPieces = 256;

export const maxMessagesPerCall = 4_096;

const roles = ["MESSAGE_ROLE_SYSTEM", "MESSAGE_ROLE_USER", "MESSAGE_ROLE_ASSISTANT", "MESSAGE_ROLE_TOOL"];

/** Bounds of messages and all that is in them. */
export function checkMessages(
  checker: Checker,
  field: string,
  messages: readonly Message[],
  min: number,
): void {
  checker.count(field, messages, min, maxMessagesPerCall);
  for (let index = 0; index < Math.min(messages.length, maxMessagesPerCall) && !checker.isFull; index++) {
    checkMessage(checker, `${field}[${index}]`, messages[index]!);
  }
}

function checkMessage(checker: Checker, field: string, message: Message): void {
  checker.oneOf(`${field}.role`, message.role, roles);
  checker.count(`${field}.parts`, message.parts, 1, maxPieces);
  checker.count(`${field}.context_parts`, message.contextParts, 0, maxPieces);
  checker.json(`${field}.context_json`, message.contextJson, inlineBytes, { isObject: true });
  if (message.injected && InjectedContext.encode(message.injected).finish().length > inlineBytes)
    checker.wrong(`${field}.injected`, "has more than 1,048,576 bytes as encoded");
  checkParts(checker, `${field}.parts`, message.parts);
  checkParts(checker, `${field}.context_parts`, message.contextParts);
}

function checkParts(checker: Checker, field: string, parts: readonly Part[]): void {
  for (let index = 0; index < Math.min(parts.length, maxPieces) && !checker.isFull; index++) {
    checkPart(checker, `${field}[${index}]`, parts[index]!);
  }
}

export function checkPart(checker: Checker, field: string, part: Part): void {
  const content = part.content;
  switch (content?.$case) {
    case undefined:
      checker.wrong(field, "holds nothing: exactly one kind of content must be set");
      return;
    case "text":
      checkContent(checker, `${field}.text.text`, content.value.text);
      return;
    case "thinking":
      checkContent(checker, `${field}.thinking.text`, content.value.text);
      checkSignature(checker, `${field}.thinking.signature`, content.value.signature);
      checker.text(`${field}.thinking.provider`, content.value.provider, { max: 64 });
      return;
    case "toolCall":
      checker.text(`${field}.tool_call.call_id`, content.value.callId, { min: 1, max: 256 });
      checker.text(`${field}.tool_call.name`, content.value.name, { min: 1, max: 256 });
      checker.json(`${field}.tool_call.arguments_json`, content.value.argumentsJson, contentBytes, {
        isObject: false,
      });
      checkSignature(checker, `${field}.tool_call.signature`, content.value.signature);
      return;
    case "toolResult":
      checker.text(`${field}.tool_result.call_id`, content.value.callId, { min: 1, max: 256 });
      checker.count(`${field}.tool_result.content`, content.value.content, 0, maxPieces);
      for (const [index, piece] of content.value.content.slice(0, maxPieces).entries()) {
        checkResultContent(checker, `${field}.tool_result.content[${index}]`, piece);
      }
      return;
    case "approvalRequest":
      checker.text(`${field}.approval_request.approval_id`, content.value.approvalId, { min: 1, max: 256 });
      checker.text(`${field}.approval_request.call_id`, content.value.callId, { max: 256 });
      checkNote(checker, `${field}.approval_request.prompt`, content.value.prompt);
      return;
    case "approvalAnswer":
      checker.text(`${field}.approval_answer.approval_id`, content.value.approvalId, { min: 1, max: 256 });
      checker.oneOf(`${field}.approval_answer.decision`, content.value.decision, [
        "APPROVAL_DECISION_APPROVED",
        "APPROVAL_DECISION_DENIED",
      ]);
      checkNote(checker, `${field}.approval_answer.reason`, content.value.reason);
      return;
    case "image":
      checkBytes(checker, `${field}.image`, content.value);
      return;
    case "file":
      checkFile(checker, `${field}.file`, content.value);
      return;
    case "opaque":
      checker.text(`${field}.opaque.provider`, content.value.provider, { min: 1, max: 64 });
      checker.text(`${field}.opaque.kind`, content.value.kind, { max: 128 });
      checkData(checker, `${field}.opaque.data`, content.value.data);
  }
}

function checkResultContent(checker: Checker, field: string, piece: ToolResultContent): void {
  const content = piece.content;
  if (!content) checker.wrong(field, "holds nothing: exactly one kind of content must be set");
  else if (content.$case === "text") checkContent(checker, `${field}.text.text`, content.value.text);
  else if (content.$case === "image") checkBytes(checker, `${field}.image`, content.value);
  else checkFile(checker, `${field}.file`, content.value);
}

function checkFile(checker: Checker, field: string, file: FilePart): void {
  checkBytes(checker, field, file);
  checker.text(`${field}.name`, file.name, { max: 1_024 });
}

function checkBytes(checker: Checker, field: string, part: ImagePart | FilePart): void {
  checker.text(`${field}.media_type`, part.mediaType, { max: 128 });
  const { source } = part;
  if (!source) checker.wrong(`${field}.source`, "is not set: uri or data");
  else if (source.$case === "uri") checker.text(`${field}.uri`, source.value, { min: 1, max: 8_192 });
  else {
    checkData(checker, `${field}.data`, source.value);
    if (part.mediaType === "") checker.wrong(`${field}.media_type`, "is required with data");
  }
}

function checkData(checker: Checker, field: string, data: Buffer): void {
  if (data.length === 0) checker.wrong(field, "is empty");
  if (data.length > inlineBytes) checker.wrong(field, "has more than 1,048,576 bytes: give it by uri");
}

function checkContent(checker: Checker, field: string, text: string): void {
  checker.text(field, text, { max: contentBytes, unit: "bytes", content: true });
}

function checkNote(checker: Checker, field: string, text: string): void {
  checker.text(field, text, { max: noteBytes, unit: "bytes", content: true });
}

function checkSignature(checker: Checker, field: string, signature: string): void {
  checker.text(field, signature, { max: inlineBytes, unit: "bytes", content: true });
}
