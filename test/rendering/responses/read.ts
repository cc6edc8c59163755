import { emptyMessage, type Message, MessageRole, type Part } from "../../../src/domain/message.js";
import type { ReadResponse } from "../../../src/rendering/answer-parts.js";
import { renderBody } from "../../../src/rendering/render.js";
import type { BodyFormat } from "../../../src/rendering/render-input.js";
import { readResponse } from "../../../src/rendering/response.js";
import { context, result, text, tool, toolOf, user } from "../contexts.js";

export const modelOf: Readonly<Record<BodyFormat, string>> = {
  anthropic: "claude-sonnet-5-5",
  "openai-responses": "gpt-6-sol",
  "openai-chat": "gpt-6-sol",
  gemini: "gemini-4-argon",
};

export function bytesOf(body: unknown): Buffer {
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

/** An answer that can be read. */
export function read(format: BodyFormat, body: unknown, candidate = 0): ReadResponse {
  const found = readResponse({ format, bytes: bytesOf(body), candidate });
  if ("problem" in found) throw new Error(`${found.path}: ${found.problem}`);
  return found;
}

/** Where and why an answer cannot be read. */
export function problemOf(format: BodyFormat, body: unknown, candidate = 0): string {
  const found = readResponse({ format, bytes: bytesOf(body), candidate });
  return "problem" in found ? `${found.path}: ${found.problem}` : "it can be read";
}

/** The conversation after an answer: its calls have results, and the user says something more. */
export function after(parts: readonly Part[]): readonly Message[] {
  const withIds = parts.map((part, at): Part => {
    const { content } = part;
    if (content?.$case !== "toolCall" || content.value.callId !== "") return part;
    return { ...part, content: { ...content, value: { ...content.value, callId: `derived_${at}` } } };
  });
  const ids = withIds.flatMap(({ content }) => (content?.$case === "toolCall" ? [content.value.callId] : []));
  const results = ids.length > 0 ? [tool(...ids.map((id) => result(id, `result of ${id}`)))] : [];
  const answered = { ...emptyMessage, role: MessageRole.ASSISTANT, parts: withIds };
  return [user(text("Hello.")), answered, ...results, user(text("And then?"))];
}

export const tools = ["search", "write"].map((name) =>
  toolOf(name, "A tool.", { type: "object", properties: {} }),
);

export function bodyAfter(format: BodyFormat, parts: readonly Part[]) {
  return renderBody(format, context({ model: modelOf[format], tools, messages: after(parts) }));
}
