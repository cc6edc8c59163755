import { Message, MessageRole, type Part, ToolCallPart } from "../../src/contract/gen/quire/v1/message.js";
import { text } from "../assembly-conversation.js";
import { prose, seeded } from "../measure.js";

const sessionsPerSet = 25;
export const turnsPerSet = 1_000;
/** Of each set's sessions, those that a sub-agent of the first one has. */
export const subAgents: readonly number[] = [22, 23, 24];

/** The lengths of a set's sessions: a thousand turns in all, of which the longest session has a third and the shortest a few. */
export const sessionLengths: readonly number[] = heavyTailed(sessionsPerSet, turnsPerSet);

function heavyTailed(count: number, sum: number): number[] {
  const weights = Array.from({ length: count }, (_, rank) => (rank + 1) ** -1.1);
  const whole = weights.reduce((total, weight) => total + weight, 0);
  const lengths = weights.map((weight) => Math.max(1, Math.round((sum * weight) / whole)));
  lengths[0]! += sum - lengths.reduce((total, length) => total + length, 0);
  return lengths;
}

const largestResult = 60_000;

/** A turn as agents have them: a question, none to some calls with what the tools gave, and an answer. Most are small, a few are large. */
export function heavyTurn(seed: number): Message[] {
  const random = seeded(Math.imul(seed + 1, 2_654_435_761));
  const size = (least: number) => Math.min(largestResult, Math.floor(least / (1 - random()) ** 0.8));
  const messages = [message(MessageRole.USER, text(prose(random, size(60))))];
  for (let call = 0; random() < 0.55 && call < 8; call++) {
    const callId = `call-${seed}-${call}`;
    const argumentsJson = JSON.stringify({ query: prose(random, 40), limit: call });
    const toolCall = ToolCallPart.create({ callId, name: "search_records", argumentsJson });
    const result = { $case: "text" as const, value: { text: prose(random, size(300)) } };
    const found = { callId, content: [{ content: result }], isError: false };
    messages.push(
      message(MessageRole.ASSISTANT, { content: { $case: "toolCall", value: toolCall } }),
      message(MessageRole.TOOL, { content: { $case: "toolResult", value: found } }),
    );
  }
  messages.push(message(MessageRole.ASSISTANT, text(prose(random, size(200)))));
  return messages;
}

function message(role: MessageRole, ...parts: Part[]): Message {
  return Message.create({ role, parts });
}
