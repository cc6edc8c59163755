import { BodyFormat } from "../../contract/gen/quire/v1/rendering.js";

/** What people call the ways in which providers take a context. */
export const bodyFormats = {
  anthropic: BodyFormat.ANTHROPIC_MESSAGES,
  "openai-responses": BodyFormat.OPENAI_RESPONSES,
  "openai-chat": BodyFormat.OPENAI_CHAT,
  gemini: BodyFormat.GEMINI,
};

export type BodyFormatName = keyof typeof bodyFormats;

export const bodyFormatNames = Object.keys(bodyFormats) as readonly BodyFormatName[];

export function bodyFormatName(format: BodyFormat): string {
  return bodyFormatNames.find((name) => bodyFormats[name] === format) ?? format;
}
