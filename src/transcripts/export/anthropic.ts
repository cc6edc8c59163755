import { type Message, MessageRole } from "../../contract/gen/quire/v1/message.js";
import type { Findings } from "../findings.js";
import { anthropicBlocks } from "./anthropic-blocks.js";
import type { Exporter } from "./exporter.js";
import { jsonList } from "./provider-json.js";
import { toldApart } from "./told-apart.js";

interface AnthropicMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly object[];
}

/**
 * The `system` and `messages` of a Messages API body. Neighbours of one role are one message there, and tool results are
 * part of a user message.
 */
export const exportAnthropic: Exporter = async function* (thread, findings) {
  const messages = toldApart(thread.messages())[Symbol.asyncIterator]();
  const system: object[] = [];
  let next = await messages.next();
  for (; !next.done && next.value.role === MessageRole.SYSTEM; next = await messages.next()) {
    system.push(...anthropicBlocks(next.value, findings));
  }
  const first = next.done ? [] : [next.value];
  const rest = joined(first, messages, findings);
  const head = system.length > 0 ? `"system": ${JSON.stringify(system)},\n` : "";
  yield* jsonList(rest, `{${head}"messages": [`, "]}");
};

async function* joined(
  first: readonly Message[],
  rest: AsyncIterator<Message>,
  findings: Findings,
): AsyncGenerator<AnthropicMessage> {
  let current: AnthropicMessage | undefined;
  for await (const message of following(first, rest)) {
    const role = message.role === MessageRole.ASSISTANT ? "assistant" : "user";
    const content = anthropicBlocks(message, findings, message.role === MessageRole.SYSTEM);
    if (content.length === 0) continue;
    if (current && current.role !== role) {
      yield current;
      current = undefined;
    }
    current = { role, content: [...(current?.content ?? []), ...content] };
  }
  if (current) yield current;
}

async function* following(first: readonly Message[], rest: AsyncIterator<Message>): AsyncGenerator<Message> {
  yield* first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
