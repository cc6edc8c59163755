import { BodyFormat } from "../../contract/gen/quire/v1/rendering.js";
import type { BodyFormat as FormatName } from "../../rendering/render-input.js";

const formats: { readonly [Format in BodyFormat]?: FormatName } = {
  [BodyFormat.ANTHROPIC_MESSAGES]: "anthropic",
  [BodyFormat.OPENAI_RESPONSES]: "openai-responses",
  [BodyFormat.OPENAI_CHAT]: "openai-chat",
  [BodyFormat.GEMINI]: "gemini",
};

/** The renderer's name for a format of the contract; undefined for none. */
export function formatName(format: BodyFormat): FormatName | undefined {
  return formats[format];
}
