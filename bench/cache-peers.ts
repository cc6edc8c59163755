import { type Message, MessageRole } from "../src/domain/message.js";
import { renderBody } from "../src/rendering/render.js";
import { countOf, promptBlocks } from "./cache-body.js";
import type { CacheUsage } from "./cache-provider.js";
import type { SimulatedModel } from "./cache-providers.js";
import type { PeerInput } from "./cache-replay.js";
import { type LangchainMessage, langchainMessages } from "./langchain.js";

export interface PeerRequest extends CacheUsage {
  readonly turn: number;
  readonly isCold: boolean;
}

/** Which messages an engine without a memory of its own sends. */
type Choose = (input: PeerInput, budgetTokens: number) => Promise<readonly Message[]>;

/**
 * Another way to choose the messages, with a cache of its own. Its bodies are rendered as ours are, with markers where its users are told to
 * put them: after the tools, after the system prompt and at the end.
 */
export class Peer {
  readonly sent: PeerRequest[] = [];
  private readonly cache;

  constructor(
    private readonly model: SimulatedModel,
    /** In the model's tokens, for the whole context. */
    private readonly budgetTokens: number,
    private readonly choose: Choose,
  ) {
    this.cache = model.cache();
  }

  async request(input: PeerInput): Promise<void> {
    const { system, tools, nowMs, isCold, turn } = input;
    const { format, name, ratio } = this.model;
    const toolTexts = tools.map((tool) => `${tool.name}\n${tool.description}\n${tool.inputSchemaJson}`);
    const toolTokens = toolTexts.reduce((sum, tool) => sum + countOf(tool), 0);
    const messages = await this.choose(input, this.budgetTokens / ratio - toolTokens);
    const body = renderBody(format, {
      ...{ model: name, system, tools, messages },
      ...{ maxTokens: 0, outputTokens: 8_192, temperature: undefined, thinking: undefined, cacheKey: "" },
      breakpoints: [
        { after: "tools", ttlSeconds: 300 },
        { after: "system", ttlSeconds: 300 },
        { after: "message", messageIndex: messages.length - 1, ttlSeconds: 300 },
      ],
    });
    const usage = this.cache.request(promptBlocks(format, body, ratio), nowMs);
    this.sent.push({ ...usage, turn, isCold });
  }
}

/** The newest messages that fit beside the system prompt, from a question on. */
export const slidingWindow: Choose = async ({ system, messages }, budgetTokens) => {
  let left = budgetTokens - countOf(system);
  let begin = messages.length;
  for (let at = messages.length - 1; at >= 0; at--) {
    left -= tokensOf(messages[at]!);
    if (left < 0) break;
    if (messages[at]!.role === MessageRole.USER) begin = at;
  }
  return messages.slice(begin);
};

/** What cannot matter to `trimMessages` is not given to it, for it is slow: it drops the oldest until the rest fits. */
const newestGiven = 400;

/** LangChain's `trimMessages`, as its documentation shows it for chat models. */
export const langchainTrim: Choose = async ({ system, messages }, budgetTokens) => {
  const langchain = await langchainMessages();
  const from = Math.max(0, messages.length - newestGiven);
  const given = [
    new langchain.SystemMessage({ id: "system", content: system }),
    ...messages.slice(from).map((message, at) => asLangchain(langchain, message, String(from + at))),
  ];
  const tokens = (message: LangchainMessage) =>
    message.id === "system" ? countOf(system) : tokensOf(messages[Number(message.id)]!);
  const kept = await langchain.trimMessages(given, {
    strategy: "last",
    includeSystem: true,
    startOn: "human",
    maxTokens: Math.floor(budgetTokens),
    tokenCounter: (list) => list.reduce((sum, message) => sum + tokens(message), 0),
  });
  return kept.slice(1).map(({ id }) => messages[Number(id)]!);
};

/** Only what decides about the cut: what is sent is the message itself. */
function asLangchain(
  langchain: Awaited<ReturnType<typeof langchainMessages>>,
  { role, parts }: Message,
  id: string,
): LangchainMessage {
  const content = "";
  if (role === MessageRole.USER) return new langchain.HumanMessage({ id, content });
  if (role === MessageRole.ASSISTANT) return new langchain.AIMessage({ id, content });
  const result = parts[0]!.content;
  const callId = result?.$case === "toolResult" ? result.value.callId : "";
  return new langchain.ToolMessage({ id, content, tool_call_id: callId });
}

const messageOverhead = 4;
const messageCounts = new WeakMap<Message, number>();

function tokensOf(message: Message): number {
  let count = messageCounts.get(message);
  if (count === undefined) {
    const texts = [...message.contextParts, ...message.parts].flatMap(({ content }) => {
      if (content?.$case === "text") return [content.value.text];
      if (content?.$case === "toolCall") return [content.value.name, content.value.argumentsJson];
      if (content?.$case !== "toolResult") return [];
      return content.value.content.map(({ content: piece }) =>
        piece?.$case === "text" ? piece.value.text : "",
      );
    });
    count = texts.reduce((sum, text) => sum + countOf(text), messageOverhead);
    messageCounts.set(message, count);
  }
  return count;
}
