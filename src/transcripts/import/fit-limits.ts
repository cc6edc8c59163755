import { MessageRole, type Part, type ToolResultContent } from "../../contract/gen/quire/v1/message.js";
import { maxJsonDepth, scanJson } from "../../domain/json-scan.js";
import type { Findings } from "../findings.js";
import { mostBytes, mostCharacters, mostItems } from "./bounds.js";
import { text } from "./content.js";
import { fitNames } from "./fit-names.js";
import type { TranscriptMessage } from "./transcript.js";

/**
 * Brings a message within the contract's bounds: long texts and long lists of parts are split, inline data that is
 * too large gives way to a text that names its size, arguments that are nested too deep become a text, and a message without content holds an empty text.
 */
export function fitLimits(message: TranscriptMessage, findings: Findings): readonly TranscriptMessage[] {
  const most = mostItems("Message.parts");
  const parts = message.parts.flatMap((part) => fitPart(part, message.where, findings));
  if (parts.length === 0) {
    findings.add("messages without content, kept with an empty text", message.where);
    return [{ ...message, parts: [text("")] }];
  }
  if (parts.length <= most) return [{ ...message, parts }];
  findings.add(`messages of more than ${most} parts, split`, message.where);
  return chunks(message.role === MessageRole.ASSISTANT ? callsLast(parts) : parts).map((chunk, index) =>
    index === 0 ? { ...message, parts: chunk } : { role: message.role, where: message.where, parts: chunk },
  );
}

function fitPart(part: Part, where: string, findings: Findings): readonly Part[] {
  const { content } = part;
  if (content?.$case === "toolResult") {
    const pieces = content.value.content.flatMap((piece): readonly ToolResultContent[] =>
      piece.content ? fitPiece({ content: piece.content }, where, findings).map(asPiece) : [],
    );
    const most = mostItems("ToolResultPart.content");
    if (pieces.length <= most) {
      return [{ content: { $case: "toolResult", value: { ...content.value, content: pieces } } }];
    }
    findings.add(`tool results of more than ${most} pieces, their texts joined`, where);
    const joined = joinTexts(pieces);
    const over = joined.length - most;
    if (over > 0) findings.add(`pieces of tool results above ${most}, left out`, where, over);
    return [
      { content: { $case: "toolResult", value: { ...content.value, content: joined.slice(0, most) } } },
    ];
  }
  return fitPiece(part, where, findings);
}

function fitPiece(given: Part, where: string, findings: Findings): readonly Part[] {
  const part = fitNames(given);
  const { content } = part;
  if (content?.$case === "text") {
    const pieces = splitText(content.value.text);
    if (pieces.length > 1) findings.add("texts of more than 4 MiB, split", where);
    return pieces.map(text);
  }
  const longest = mostCharacters("FilePart.uri");
  if (address(part)?.length === 0 || (address(part)?.length ?? 0) > longest) {
    findings.add(`addresses that are empty or above ${longest} characters, replaced by a text`, where);
    return [text(`[${content?.$case} without a usable address left out by the import]`)];
  }
  if (content?.$case === "toolCall" && scanJson(content.value.argumentsJson, maxJsonDepth) === "too deep") {
    findings.add(
      `arguments nested more than ${maxJsonDepth} levels deep, kept as a text under "_raw"`,
      where,
    );
    const argumentsJson = JSON.stringify({ _raw: content.value.argumentsJson });
    return [{ content: { $case: "toolCall", value: { ...content.value, argumentsJson } } }];
  }
  const data = inlineData(part);
  const largest = mostBytes("FilePart.data");
  if (!content || !data || (data.length > 0 && data.length <= largest)) return [part];
  findings.add(`inline data that is empty or above ${largest} bytes, replaced by a text`, where);
  return [text(`[${content.$case} of ${data.length} bytes left out by the import]`)];
}

function inlineData(part: Part): Buffer | undefined {
  const { content } = part;
  if (content?.$case === "opaque") return content.value.data;
  if (content?.$case !== "image" && content?.$case !== "file") return undefined;
  const { source } = content.value;
  return source?.$case === "data" ? source.value : undefined;
}

function address(part: Part): string | undefined {
  const { content } = part;
  if (content?.$case !== "image" && content?.$case !== "file") return undefined;
  return content.value.source?.$case === "uri" ? content.value.source.value : undefined;
}

function asPiece(part: Part): ToolResultContent {
  const { content } = part;
  if (content?.$case === "text" || content?.$case === "image" || content?.$case === "file")
    return { content };
  return { content: undefined };
}

function splitText(value: string): readonly string[] {
  const largest = mostBytes("TextPart.text");
  if (Buffer.byteLength(value) <= largest) return [value];
  // At most three bytes for a UTF-16 unit; the cut must not part a surrogate pair.
  let cut = Math.floor(largest / 3);
  if (/[\uD800-\uDBFF]/.test(value.charAt(cut - 1))) cut -= 1;
  return [value.slice(0, cut), ...splitText(value.slice(cut))];
}

function joinTexts(pieces: readonly ToolResultContent[]): readonly ToolResultContent[] {
  const joined = pieces
    .flatMap(({ content }) => (content?.$case === "text" ? [content.value.text] : []))
    .join("\n");
  const others = pieces.filter(({ content }) => content?.$case !== "text");
  const texts = splitText(joined).map((part): ToolResultContent => asPiece(text(part)));
  return [...texts, ...others];
}

/** Behind an open call only its result may follow, so the calls must be in the last message of a split. */
function callsLast(parts: readonly Part[]): readonly Part[] {
  const isCall = (part: Part) => part.content?.$case === "toolCall";
  return [...parts.filter((part) => !isCall(part)), ...parts.filter(isCall)];
}

function chunks(parts: readonly Part[]): readonly (readonly Part[])[] {
  const calls = parts.filter((part) => part.content?.$case === "toolCall").length;
  // The last chunk holds all calls.
  const head = parts.slice(0, parts.length - calls);
  const most = mostItems("Message.parts");
  const sliced = Array.from({ length: Math.ceil(head.length / most) }, (_, index) =>
    head.slice(index * most, (index + 1) * most),
  );
  return calls === 0 ? sliced : [...sliced, parts.slice(parts.length - calls)];
}
