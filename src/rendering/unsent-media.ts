import type { Message, Part } from "../domain/message.js";
import { defaultPromptTexts } from "../domain/prompt-texts.js";
import { takesMedia as anthropic } from "./anthropic/conversation.js";
import { takesMedia as gemini } from "./gemini/conversation.js";
import { mediaTypeOf, sentParts } from "./messages.js";
import { takesMedia as openaiChat } from "./openai-chat/body.js";
import { takesMedia as openaiResponses } from "./openai-responses/content.js";
import type { BodyFormat } from "./render-input.js";

const takes: Readonly<Record<BodyFormat, (part: Part) => boolean>> = {
  anthropic,
  gemini,
  "openai-chat": openaiChat,
  "openai-responses": (part) => openaiResponses(defaultPromptTexts, part),
};

/** The images and files that a body has only in words, each by what it is called: their provider does not fetch or take them. */
export function unsentMedia(format: BodyFormat, messages: readonly Message[]): string[] {
  const unsent = new Set<string>();
  for (const message of messages)
    for (const part of sentParts(message).flatMap(withResults))
      if (!takes[format](part)) unsent.add(nameOf(part));
  return [...unsent];
}

function withResults(part: Part): readonly Part[] {
  return part.content?.$case === "toolResult" ? part.content.value.content : [part];
}

const longestName = 120;

function nameOf({ content }: Part): string {
  if (content?.$case !== "image" && content?.$case !== "file") return "";
  const { value } = content;
  const type = mediaTypeOf(value) || "of an unknown type";
  if (value.source?.$case !== "uri") return `the ${content.$case} (${type})`;
  const uri = value.source.value;
  // A data URL is as long as its picture.
  const shown = uri.startsWith("data:") ? "data:" : uri.slice(0, longestName);
  return `the ${content.$case} ${JSON.stringify(shown)} (${type})`;
}
