import { Message, MessageRole, type Part } from "../../src/contract/gen/quire/v1/message.js";

/** Short ways to write messages. */

export function user(text: string): Message {
  return Message.create({ role: MessageRole.USER, parts: [{ content: { $case: "text", value: { text } } }] });
}

export function assistant(text: string): Message {
  return Message.create({
    role: MessageRole.ASSISTANT,
    parts: [{ content: { $case: "text", value: { text } } }],
  });
}

export function system(text: string): Message {
  return Message.create({
    role: MessageRole.SYSTEM,
    parts: [{ content: { $case: "text", value: { text } } }],
  });
}

export function toolCalls(...callIds: readonly string[]): Message {
  return Message.create({
    role: MessageRole.ASSISTANT,
    parts: callIds.map((callId): Part => {
      const value = { callId, name: "search", argumentsJson: `{"q": "${callId}"}`, signature: "" };
      return { content: { $case: "toolCall", value } };
    }),
  });
}

export function toolResults(...callIds: readonly string[]): Message {
  return Message.create({
    role: MessageRole.TOOL,
    parts: callIds.map((callId): Part => {
      const content = [{ content: { $case: "text" as const, value: { text: `result of ${callId}` } } }];
      return { content: { $case: "toolResult", value: { callId, content, isError: false } } };
    }),
  });
}
