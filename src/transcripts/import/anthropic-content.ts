import type { Part, ToolResultContent } from "../../contract/gen/quire/v1/message.js";
import { TokenUsage } from "../../contract/gen/quire/v1/turn.js";
import type { Findings } from "../findings.js";
import * as content from "./content.js";
import { countAt, isObject, type JsonObject, objectAt, textAt } from "./json.js";

export const anthropic = "anthropic";

/** The blocks of a message's content; a plain text is one block. */
export function blocksOf(value: unknown): readonly unknown[] {
  if (typeof value === "string") return [{ type: "text", text: value }];
  return Array.isArray(value) ? value : [];
}

/** One content block of the Messages API as a part. What has no part of its own is kept as opaque data. */
export function anthropicPart(block: unknown, where: string, findings: Findings): readonly Part[] {
  if (typeof block === "string") return [content.text(block)];
  if (!isObject(block)) {
    findings.add("content that is no block, left out", where);
    return [];
  }
  if (block.cache_control) findings.add("cache_control marks, left out", where);
  switch (block.type) {
    case "thinking":
      return [content.thinking(textAt(block, "thinking"), textAt(block, "signature"), anthropic)];
    case "redacted_thinking":
      return [content.opaque(anthropic, "redacted_thinking", textAt(block, "data"))];
    case "tool_use": {
      const input = typeof block.input === "string" ? block.input : JSON.stringify(block.input ?? {});
      return [content.toolCall(textAt(block, "id"), textAt(block, "name") || "tool", input)];
    }
    case "tool_result":
      return [
        content.toolResult(
          textAt(block, "tool_use_id"),
          resultContent(block, where, findings),
          block.is_error === true,
        ),
      ];
    default: {
      const piece = anthropicPiece(block, where, findings);
      if (piece) return [{ content: piece }];
      findings.add(`"${textAt(block, "type")}" blocks, kept as opaque data`, where);
      return [content.opaque(anthropic, textAt(block, "type").slice(0, 128), JSON.stringify(block))];
    }
  }
}

/** The text of a block, as SYSTEM messages can hold no more. */
export function anthropicSystemPart(block: unknown, where: string, findings: Findings): readonly Part[] {
  return anthropicPart(block, where, findings).map((part) => {
    if (part.content?.$case === "text") return part;
    findings.add("content of a system message that is no text, kept as JSON", where);
    return content.text(JSON.stringify(block));
  });
}

function resultContent(block: JsonObject, where: string, findings: Findings): readonly ToolResultContent[] {
  return blocksOf(block.content).flatMap((inner): readonly ToolResultContent[] => {
    const piece = isObject(inner) ? anthropicPiece(inner, where, findings) : undefined;
    if (piece) return [{ content: piece }];
    findings.add("content of an unknown type in a tool result, kept as JSON", where);
    return [{ content: content.textPiece(JSON.stringify(inner)) }];
  });
}

function anthropicPiece(block: JsonObject, where: string, findings: Findings): content.Piece | undefined {
  const source = objectAt(block, "source");
  switch (block.type) {
    case "text":
      if (Array.isArray(block.citations) && block.citations.length > 0)
        findings.add("citations, left out", where);
      return content.textPiece(textAt(block, "text"));
    case "image":
      if (source?.type === "base64")
        return content.inlineImagePiece(textAt(source, "data"), textAt(source, "media_type"));
      if (source?.type === "url") return content.imageFromUrl(textAt(source, "url"));
      if (source?.type === "file") return content.imagePiece(`anthropic-file:${textAt(source, "file_id")}`);
      return undefined;
    case "document":
      return source ? documentPiece(source, textAt(block, "title").slice(0, 1024)) : undefined;
    default:
      return undefined;
  }
}

function documentPiece(source: JsonObject, name: string): content.Piece | undefined {
  const mediaType = textAt(source, "media_type");
  switch (source.type) {
    case "base64":
      return content.inlineFilePiece(
        Buffer.from(textAt(source, "data"), "base64"),
        mediaType || "application/pdf",
        name,
      );
    case "text":
      return content.inlineFilePiece(
        Buffer.from(textAt(source, "data"), "utf8"),
        mediaType || "text/plain",
        name,
      );
    case "url":
      return content.fileFromUrl(textAt(source, "url"), name);
    case "file":
      return content.filePiece(`anthropic-file:${textAt(source, "file_id")}`, name);
    default:
      return undefined;
  }
}

/** The contract's input tokens are all tokens of the input; the Messages API counts those of the cache apart. */
export function anthropicUsage(usage: JsonObject | undefined): TokenUsage | undefined {
  if (!usage) return undefined;
  const cachedInputTokens = countAt(usage, "cache_read_input_tokens");
  const cacheWriteTokens = countAt(usage, "cache_creation_input_tokens");
  return TokenUsage.fromPartial({
    inputTokens: countAt(usage, "input_tokens") + cachedInputTokens + cacheWriteTokens,
    outputTokens: countAt(usage, "output_tokens"),
    cachedInputTokens,
    cacheWriteTokens,
  });
}
