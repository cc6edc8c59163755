import type { Part, ToolResultContent } from "../../contract/gen/quire/v1/message.js";

export function text(value: string): Part {
  return { content: { $case: "text", value: { text: value } } };
}

export function thinking(value: string, signature: string, provider: string): Part {
  return { content: { $case: "thinking", value: { text: value, signature, provider } } };
}

export function toolCall(callId: string, name: string, argumentsJson: string, signature = ""): Part {
  return { content: { $case: "toolCall", value: { callId, name, argumentsJson, signature } } };
}

export function toolResult(callId: string, content: readonly ToolResultContent[], isError = false): Part {
  return { content: { $case: "toolResult", value: { callId, content, isError } } };
}

/** Provider data that is kept as it is, so that it can go back unchanged. */
export function opaque(provider: string, kind: string, data: string): Part {
  return { content: { $case: "opaque", value: { provider, kind, data: Buffer.from(data, "utf8") } } };
}

/** What a part and a piece of a tool result can both hold. */
export type Piece = NonNullable<ToolResultContent["content"]>;

export function textPiece(value: string): Piece {
  return { $case: "text", value: { text: value } };
}

export function imagePiece(uri: string): Piece {
  return { $case: "image", value: { source: { $case: "uri", value: uri }, mediaType: "" } };
}

export function inlineImagePiece(base64: string, mediaType: string): Piece {
  return {
    $case: "image",
    value: {
      source: { $case: "data", value: Buffer.from(base64, "base64") },
      mediaType: mediaType || "image/png",
    },
  };
}

export function filePiece(uri: string, name = ""): Piece {
  return { $case: "file", value: { source: { $case: "uri", value: uri }, mediaType: "", name } };
}

export function inlineFilePiece(data: Buffer, mediaType: string, name = ""): Piece {
  return {
    $case: "file",
    value: {
      source: { $case: "data", value: data },
      mediaType: mediaType || "application/octet-stream",
      name,
    },
  };
}

const dataUrl = /^data:([^;,]*)(;[^,]*)?,(.*)$/s;

/** A picture by address; an address that holds the picture itself is taken apart. */
export function imageFromUrl(url: string): Piece {
  const match = dataUrl.exec(url);
  if (!match?.[2]?.endsWith(";base64")) return imagePiece(url);
  return inlineImagePiece(match[3] ?? "", match[1] ?? "");
}

export function fileFromUrl(url: string, name: string): Piece {
  const match = dataUrl.exec(url);
  if (!match?.[2]?.endsWith(";base64")) return filePiece(url, name);
  return inlineFilePiece(Buffer.from(match[3] ?? "", "base64"), match[1] ?? "", name);
}
