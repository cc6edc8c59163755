import { MessageRole, type Part } from "../../contract/gen/quire/v1/message.js";
import { TokenUsage } from "../../contract/gen/quire/v1/turn.js";
import type { Findings } from "../findings.js";
import { inlineImagePiece, type Piece, text, textPiece, thinking, toolCall, toolResult } from "./content.js";
import { countAt, isObject, type JsonObject, objectAt, textAt } from "./json.js";
import type { TranscriptMessage } from "./transcript.js";

/** A message of a pi session. What pi puts into the model's context as a user message is a USER message here, too. */
export function piMessage(
  message: JsonObject,
  where: string,
  findings: Findings,
): readonly TranscriptMessage[] {
  const user = (parts: readonly Part[]): TranscriptMessage => ({ role: MessageRole.USER, parts, where });
  switch (message.role) {
    case "user":
    case "custom":
    case "hookMessage":
      return [user(pieces(message.content, where, findings).map((content) => ({ content })))];
    case "assistant":
      return [assistantMessage(message, where, findings)];
    case "toolResult": {
      if (message.details !== undefined)
        findings.add("details of tool results that no model saw, left out", where);
      const content = pieces(message.content, where, findings).map((piece) => ({ content: piece }));
      const result = toolResult(textAt(message, "toolCallId"), content, message.isError === true);
      return [{ role: MessageRole.TOOL, parts: [result], where }];
    }
    case "bashExecution":
      if (message.excludeFromContext === true) {
        findings.add("commands that no model saw, left out", where);
        return [];
      }
      return [user([text(`Ran \`${textAt(message, "command")}\`\n${textAt(message, "output")}`)])];
    case "branchSummary":
      return [user([text(`[summary of another branch]\n${textAt(message, "summary")}`)])];
    case "compactionSummary":
      findings.add("compaction summaries, left out: the whole history is imported", where);
      return [];
    default:
      findings.add(`messages of the unknown role ${JSON.stringify(message.role)}, left out`, where);
      return [];
  }
}

function assistantMessage(message: JsonObject, where: string, findings: Findings): TranscriptMessage {
  const provider = textAt(message, "provider");
  const content = Array.isArray(message.content) ? message.content : [];
  return {
    role: MessageRole.ASSISTANT,
    parts: content.flatMap((part) => (isObject(part) ? assistantPart(part, provider, where, findings) : [])),
    where,
    model: textAt(message, "model"),
    provider,
    usage: piUsage(objectAt(message, "usage")),
    stopReason: textAt(message, "stopReason"),
    error: textAt(message, "errorMessage") || undefined,
  };
}

function assistantPart(
  part: JsonObject,
  provider: string,
  where: string,
  findings: Findings,
): readonly Part[] {
  switch (part.type) {
    case "text":
      if (part.textSignature) findings.add("signatures of texts, left out", where);
      return [text(textAt(part, "text"))];
    case "thinking":
      return [thinking(textAt(part, "thinking"), textAt(part, "thinkingSignature"), provider)];
    case "toolCall": {
      const argumentsJson = JSON.stringify(part.arguments ?? {});
      const name = textAt(part, "name") || "tool";
      return [toolCall(textAt(part, "id"), name, argumentsJson, textAt(part, "thoughtSignature"))];
    }
    default:
      findings.add("content of an unknown type, kept as JSON", where);
      return [text(JSON.stringify(part))];
  }
}

function pieces(content: unknown, where: string, findings: Findings): readonly Piece[] {
  if (typeof content === "string") return [textPiece(content)];
  if (!Array.isArray(content)) return [];
  return content.map((part): Piece => {
    if (isObject(part) && part.type === "text") return textPiece(textAt(part, "text"));
    if (isObject(part) && part.type === "image") {
      return inlineImagePiece(textAt(part, "data"), textAt(part, "mimeType"));
    }
    findings.add("content of an unknown type, kept as JSON", where);
    return textPiece(JSON.stringify(part));
  });
}

/** pi counts the cached part of the input apart, whatever the provider. */
function piUsage(usage: JsonObject | undefined): TokenUsage | undefined {
  if (!usage) return undefined;
  const cachedInputTokens = countAt(usage, "cacheRead");
  const cacheWriteTokens = countAt(usage, "cacheWrite");
  return TokenUsage.fromPartial({
    inputTokens: countAt(usage, "input") + cachedInputTokens + cacheWriteTokens,
    outputTokens: countAt(usage, "output"),
    cachedInputTokens,
    cacheWriteTokens,
    reasoningTokens: countAt(usage, "reasoning"),
  });
}
