import fc from "fast-check";
import type { FoldedTurn, SummaryTask } from "../../../src/compaction/plan/summary-task.js";
import { type Message, MessageRole, type Part } from "../../../src/domain/message.js";
import { count } from "../../support/folded-turns.js";

/** Short ways to write what is summarized; turns cost what their texts cost. */

export function message(role: MessageRole, ...parts: readonly Part[]): Message {
  return {
    id: "",
    turnId: "",
    index: 0,
    role,
    parts,
    contextParts: [],
    contextJson: "",
    o200kTokens: 0,
    contextO200kTokens: 0,
    createTime: undefined,
    injected: undefined,
    prompted: false,
  };
}

export function textPart(text: string): Part {
  return { content: { $case: "text", value: { text } } };
}

export function says(role: "USER" | "ASSISTANT", text: string): Message {
  return message(MessageRole[role], textPart(text));
}

export function calls(callId: string, name: string, args: object): Message {
  const value = { callId, name, argumentsJson: JSON.stringify(args), signature: "" };
  return message(MessageRole.ASSISTANT, { content: { $case: "toolCall", value } });
}

export function answers(callId: string, text: string, isError = false): Message {
  const content = [{ content: { $case: "text" as const, value: { text } } }];
  return message(MessageRole.TOOL, { content: { $case: "toolResult", value: { callId, content, isError } } });
}

export function turn(depth: number, ...messages: readonly Message[]): FoldedTurn {
  const tokens = count(JSON.stringify(messages.map(({ parts }) => parts)));
  return { turnId: `turn-${depth}`, depth, createdMs: 1_700_000_000_000, messages, tokens };
}

export function taskOf(turns: readonly FoldedTurn[], more: Partial<SummaryTask> = {}): SummaryTask {
  return { previousSummary: "", turns, instructions: "", maxTokens: 300, mustKeep: [], ...more };
}

/** A turn of small talk that names one thing. */
export function smallTalk(depth: number): FoldedTurn {
  const town = ["Lisbon", "Osaka", "Quito", "Tallinn", "Perth", "Cusco", "Turin", "Hanoi"][depth % 8]!;
  return turn(
    depth,
    says("USER", `Yesterday I read about ${town} again, and it rained for ${depth + 2} hours while I did.`),
    says(
      "ASSISTANT",
      `That sounds like a calm evening. ${town} has good weather in spring, most years at least.`,
    ),
  );
}

const text = fc.oneof(
  fc.string({ maxLength: 200 }),
  fc.string({ unit: "binary", maxLength: 120 }),
  fc.lorem({ maxCount: 8, mode: "sentences" }),
  fc.constantFrom(
    "- [ ] fix src/a.ts\n- [x] done",
    "请记住：我叫李雷。",
    "```\ncode();\n",
    "Ada: hello. I must go.",
    "...",
    " ",
  ),
);
const id = fc.stringMatching(/^[A-Z]{2,4}-[0-9]{2,6}$/u);

/** Tasks of any text, small and large budgets, with and without a summary before. */
export const anyTask: fc.Arbitrary<SummaryTask> = fc
  .record({
    texts: fc.array(fc.tuple(fc.constantFrom("USER" as const, "ASSISTANT" as const), text), {
      maxLength: 12,
    }),
    tools: fc.array(fc.tuple(id, text, fc.boolean(), fc.boolean()), { maxLength: 3 }),
    previousSummary: fc.oneof(fc.constant(""), text),
    instructions: fc.oneof(fc.constant(""), text),
    maxTokens: fc.integer({ min: 0, max: 400 }),
    mustKeep: fc.array(id, { maxLength: 5 }),
  })
  .map(({ texts, tools, ...task }) => ({
    ...task,
    turns: [
      ...texts.map(([role, said], depth) => turn(depth, says(role, said))),
      ...tools.map(([callId, given, isAnswered, isError], at) =>
        turn(
          texts.length + at,
          calls(callId, "look_up", { id: callId, q: given }),
          ...(isAnswered ? [answers(callId, given, isError)] : []),
        ),
      ),
    ],
  }));
