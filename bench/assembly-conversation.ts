import { Message, MessageRole, type Part, ToolCallPart } from "../src/contract/gen/quire/v1/message.js";
import { prose, seeded } from "./measure.js";

/** A turn as agents have them: a question, a call, what the tool gave, and an answer. */
export function turnMessages(turn: number): Message[] {
  const random = seeded(turn + 1);
  const size = (from: number, to: number) => from + Math.floor(random() * (to - from));
  const callId = `call-${turn}`;
  const argumentsJson = JSON.stringify({
    query: prose(random, size(20, 80)),
    limit: size(1, 50),
    page: size(1, 9),
  });
  const found = Array.from({ length: size(2, 6) }, (_, row) => ({
    id: row,
    title: prose(random, 30),
    body: prose(random, size(100, 300)),
  }));
  const result = {
    callId,
    content: [{ content: { $case: "text" as const, value: { text: JSON.stringify(found) } } }],
    isError: false,
  };
  return [
    message(MessageRole.USER, text(prose(random, size(80, 400)))),
    message(MessageRole.ASSISTANT, text(prose(random, size(40, 160))), {
      content: {
        $case: "toolCall",
        value: ToolCallPart.create({ callId, name: "search_records", argumentsJson }),
      },
    }),
    message(MessageRole.TOOL, { content: { $case: "toolResult", value: result } }),
    message(MessageRole.ASSISTANT, text(prose(random, size(200, 900)))),
  ];
}

function message(role: MessageRole, ...parts: Part[]): Message {
  return Message.create({ role, parts });
}

export function text(value: string): Part {
  return { content: { $case: "text", value: { text: value } } };
}
