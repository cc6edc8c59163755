import { Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";

export function user(text: string): Message {
  return Message.create({ role: MessageRole.USER, parts: [{ content: { $case: "text", value: { text } } }] });
}
