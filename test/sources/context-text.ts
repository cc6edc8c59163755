import type { Message } from "../../src/contract/gen/quire/v1/message.js";

/** What was put before the user's own content. */
export function contextText(message: Message | undefined): string {
  const content = message?.contextParts[0]?.content;
  return content?.$case === "text" ? content.value.text : "";
}
