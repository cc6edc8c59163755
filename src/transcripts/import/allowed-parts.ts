import { MessageRole, type Part } from "../../contract/gen/quire/v1/message.js";
import type { Findings } from "../findings.js";
import { text } from "./content.js";
import type { TranscriptMessage } from "./transcript.js";

type PartCase = NonNullable<Part["content"]>["$case"];

const allowed: Readonly<Partial<Record<MessageRole, readonly PartCase[]>>> = {
  [MessageRole.SYSTEM]: ["text"],
  [MessageRole.USER]: ["text", "image", "file", "opaque"],
  [MessageRole.ASSISTANT]: ["text", "thinking", "toolCall", "image", "file", "opaque"],
  [MessageRole.TOOL]: ["toolResult"],
};

/** Gives every part to a role that may hold it: tool results to TOOL messages, all else that is out of place as JSON. */
export function allowedParts(
  messages: readonly TranscriptMessage[],
  findings: Findings,
): readonly TranscriptMessage[] {
  return messages.flatMap((message) => {
    const may = allowed[message.role] ?? [];
    const misplaced = message.parts.filter((part) => !may.includes(part.content?.$case ?? "text"));
    if (misplaced.length === 0) return [message];
    findings.add("content that its role cannot hold, kept in another form", message.where, misplaced.length);
    const results = misplaced.filter((part) => part.content?.$case === "toolResult");
    const parts = message.parts.flatMap((part) => {
      if (!misplaced.includes(part)) return [part];
      return results.includes(part) ? [] : [text(JSON.stringify(part.content))];
    });
    const own = parts.length > 0 ? [{ ...message, parts }] : [];
    return results.length > 0
      ? [...own, { role: MessageRole.TOOL, parts: results, where: message.where }]
      : own;
  });
}
