import { Message, type MessageRole, Part } from "./gen/quire/v1/message.js";

export function says(role: MessageRole, ...parts: Part[]): Message {
  return Message.create({ role, parts });
}

export function text(value: string): Part {
  return Part.create({ content: { $case: "text", value: { text: value } } });
}

export function call(callId: string, name: string, argumentsJson: string): Part {
  return Part.create({ content: { $case: "toolCall", value: { callId, name, argumentsJson } } });
}

export function result(callId: string, value: string): Part {
  const content = [{ content: { $case: "text" as const, value: { text: value } } }];
  return Part.create({ content: { $case: "toolResult", value: { callId, content } } });
}
