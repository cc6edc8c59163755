import { MessageRole, type Part } from "../../contract/gen/quire/v1/message.js";
import type { Findings } from "../findings.js";
import {
  anthropic,
  anthropicPart,
  anthropicSystemPart,
  anthropicUsage,
  blocksOf,
} from "./anthropic-content.js";
import { isObject, type JsonObject, objectAt, textAt } from "./json.js";
import type { TranscriptMessage } from "./transcript.js";

/**
 * A message of the Messages API. The tool results of a user message become a TOOL message; what else it holds becomes a
 * USER message behind it.
 */
export function anthropicMessage(
  message: unknown,
  where: string,
  findings: Findings,
): readonly TranscriptMessage[] {
  if (!isObject(message)) {
    findings.add("entries that are no messages, left out", where);
    return [];
  }
  const blocks = blocksOf(message.content);
  switch (message.role) {
    case "system": {
      const parts = blocks.flatMap((block) => anthropicSystemPart(block, where, findings));
      return [{ role: MessageRole.SYSTEM, parts, where }];
    }
    case "user":
      return userMessages(blocks, where, findings);
    case "assistant":
      return [assistantMessage(message, blocks, where, findings)];
    default:
      findings.add(`messages of the unknown role ${JSON.stringify(message.role)}, left out`, where);
      return [];
  }
}

function userMessages(
  blocks: readonly unknown[],
  where: string,
  findings: Findings,
): readonly TranscriptMessage[] {
  const parts = blocks.flatMap((block) => anthropicPart(block, where, findings));
  const results = parts.filter(isResult);
  const others = parts.filter((part) => !isResult(part));
  return [
    ...(results.length > 0 ? [{ role: MessageRole.TOOL, parts: results, where }] : []),
    ...(others.length > 0 || results.length === 0 ? [{ role: MessageRole.USER, parts: others, where }] : []),
  ];
}

function assistantMessage(
  message: JsonObject,
  blocks: readonly unknown[],
  where: string,
  findings: Findings,
): TranscriptMessage {
  return {
    role: MessageRole.ASSISTANT,
    parts: blocks.flatMap((block) => anthropicPart(block, where, findings)),
    where,
    model: textAt(message, "model"),
    provider: anthropic,
    usage: anthropicUsage(objectAt(message, "usage")),
    stopReason: textAt(message, "stop_reason"),
  };
}

function isResult(part: Part): boolean {
  return part.content?.$case === "toolResult";
}
