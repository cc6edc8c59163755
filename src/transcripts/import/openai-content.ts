import type { Part } from "../../contract/gen/quire/v1/message.js";
import type { Findings } from "../findings.js";
import { fileFromUrl, filePiece, imageFromUrl, opaque, type Piece, text, textPiece } from "./content.js";
import { isObject, type JsonObject, objectAt, textAt } from "./json.js";

/** The content of a chat message: a text, or a list of parts. */
export function openaiParts(content: unknown, where: string, findings: Findings): readonly Part[] {
  if (typeof content === "string") return content === "" ? [] : [text(content)];
  if (!Array.isArray(content)) return [];
  return content.flatMap((item): readonly Part[] => {
    if (typeof item === "string") return [text(item)];
    if (!isObject(item)) return [];
    if (isAudio(item, where, findings)) return [];
    const piece = openaiPiece(item);
    if (piece) return [{ content: piece }];
    findings.add("content of an unknown type, kept as opaque data", where);
    return [opaque("openai", textAt(item, "type").slice(0, 128), JSON.stringify(item))];
  });
}

/** The content of a tool message, where opaque data cannot be. */
export function openaiResultPieces(content: unknown, where: string, findings: Findings): readonly Piece[] {
  if (typeof content === "string") return [textPiece(content)];
  if (content === null || content === undefined) return [];
  if (!Array.isArray(content)) {
    findings.add("tool results that are neither text nor parts, kept as JSON", where);
    return [textPiece(JSON.stringify(content))];
  }
  return content.flatMap((item): readonly Piece[] => {
    if (typeof item === "string") return [textPiece(item)];
    if (!isObject(item) || isAudio(item, where, findings)) return [];
    const piece = openaiPiece(item);
    if (piece) return [piece];
    findings.add("content of an unknown type in a tool result, kept as JSON", where);
    return [textPiece(JSON.stringify(item))];
  });
}

/** Only the text of a content, as SYSTEM messages can hold no more. */
export function openaiSystemParts(content: unknown, where: string, findings: Findings): readonly Part[] {
  return openaiParts(content, where, findings).map((part) => {
    if (part.content?.$case === "text") return part;
    findings.add("content of a system message that is no text, kept as JSON", where);
    return text(JSON.stringify(content));
  });
}

function openaiPiece(item: JsonObject): Piece | undefined {
  switch (item.type) {
    case "text":
    case "input_text":
    case "output_text":
      return textPiece(textAt(item, "text"));
    case "refusal":
      return textPiece(textAt(item, "refusal"));
    case "image_url":
    case "input_image": {
      const url = textAt(objectAt(item, "image_url") ?? {}, "url") || textAt(item, "image_url");
      return url ? imageFromUrl(url) : undefined;
    }
    case "file":
    case "input_file": {
      const file = objectAt(item, "file") ?? item;
      const name = textAt(file, "filename");
      if (textAt(file, "file_data")) return fileFromUrl(textAt(file, "file_data"), name);
      return textAt(file, "file_id") ? filePiece(`openai-file:${textAt(file, "file_id")}`, name) : undefined;
    }
    default:
      return undefined;
  }
}

function isAudio(item: JsonObject, where: string, findings: Findings): boolean {
  if (item.type !== "input_audio") return false;
  findings.add("audio, left out", where);
  return true;
}
