import { Message, type MessageRole, Part } from "./gen/quire/v1/message.js";

export function says(role: MessageRole, ...parts: Part[]): Message {
  return Message.create({ role, parts });
}

export function text(value: string): Part {
  return Part.create({ content: { $case: "text", value: { text: value } } });
}
