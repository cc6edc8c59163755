import { countTokens } from "../../src/tokens/count-tokens.js";
import { turnMessages } from "../assembly-conversation.js";
import { prose, seeded } from "../measure.js";

/** A message as every engine can be given it. */
export interface Said {
  /** Its place in the conversation: a system message, turns of four messages, and a question. */
  readonly at: number;
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text: string;
  readonly call?: { readonly id: string; readonly name: string; readonly argumentsJson: string };
  /** Of a result: the call that it answers. */
  readonly callId?: string;
  readonly tokens: number;
}

export const seed = 1;
const roles = {
  MESSAGE_ROLE_USER: "user",
  MESSAGE_ROLE_ASSISTANT: "assistant",
  MESSAGE_ROLE_TOOL: "tool",
} as const;

export const systemText = `You help with records. ${prose(seeded(seed), 2_000)}`;
export const question = "And what follows from all that?";

/** The same conversation for all. Counts are made here, so that no engine pays for them that takes counts. */
export function conversation(turns: number): readonly Said[] {
  const all: Omit<Said, "at" | "tokens">[] = [{ role: "system", text: systemText }];
  for (let turn = 0; turn < turns; turn++)
    for (const { role, parts } of turnMessages(turn)) {
      let text = "";
      let more: Pick<Said, "call" | "callId"> = {};
      for (const { content } of parts) {
        if (content?.$case === "text") text += content.value.text;
        if (content?.$case === "toolCall") {
          const { callId: id, name, argumentsJson } = content.value;
          more = { call: { id, name, argumentsJson } };
        }
        if (content?.$case === "toolResult") {
          more = { callId: content.value.callId };
          for (const { content: piece } of content.value.content)
            if (piece?.$case === "text") text += piece.value.text;
        }
      }
      all.push({ role: roles[role as keyof typeof roles], text, ...more });
    }
  all.push({ role: "user", text: question });
  return all.map((one, at) => ({ ...one, at, tokens: tokensOf(one) }));
}

function tokensOf({ text, call }: Omit<Said, "at" | "tokens">): number {
  return (
    countTokens(text, "o200k_base") + (call ? countTokens(call.name + call.argumentsJson, "o200k_base") : 0)
  );
}
