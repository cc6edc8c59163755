import { type Message, MessageRole } from "../../contract/gen/quire/v1/message.js";

/** Messages in which what a model was told before its answer, after the results of its tools, is a message of the user. */
export async function* toldApart(messages: AsyncIterable<Message>): AsyncGenerator<Message> {
  for await (const message of messages) {
    const { role, contextParts } = message;
    if (role === MessageRole.ASSISTANT && contextParts.length > 0) {
      yield { ...message, role: MessageRole.USER, parts: [], prompted: false };
      yield { ...message, contextParts: [] };
    } else yield message;
  }
}
