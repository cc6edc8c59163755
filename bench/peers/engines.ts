import { peerModule } from "../peer-package.js";
import type { Said } from "./conversation.js";

/** Chooses what of a conversation is sent. `prepare` is what its users do once, and is not measured. */
export interface Engine {
  readonly package: string;
  /** What is called, for the table. */
  readonly way: string;
  prepare(all: readonly Said[], budgetTokens: number): Promise<() => Promise<readonly Said[]>>;
}

// biome-ignore lint/suspicious/noExplicitAny: packages that need not be there when this is compiled
type Loaded = any;

const load = (name: string): Promise<Loaded> => peerModule(name);

const langchain: Engine = {
  package: "@langchain/core",
  way: "trimMessages",
  async prepare(all, maxTokens) {
    const { SystemMessage, HumanMessage, AIMessage, ToolMessage, trimMessages } =
      await load("@langchain/core/messages");
    const messages = all.map(({ at, role, text: content, call, callId }) => {
      const id = String(at);
      if (role === "system") return new SystemMessage({ id, content });
      if (role === "user") return new HumanMessage({ id, content });
      if (role === "tool") return new ToolMessage({ id, content, tool_call_id: callId });
      const tool_calls = call ? [{ id: call.id, name: call.name, args: JSON.parse(call.argumentsJson) }] : [];
      return new AIMessage({ id, content, tool_calls });
    });
    const tokenCounter = (some: { id: string }[]) =>
      some.reduce((sum, { id }) => sum + all[Number(id)]!.tokens, 0);
    const options = { maxTokens, strategy: "last", includeSystem: true, startOn: "human", tokenCounter };
    return async () =>
      (await trimMessages(messages, options)).map(({ id }: { id: string }) => all[Number(id)]!);
  },
};

const pi: Engine = {
  package: "@mariozechner/pi-coding-agent",
  way: "findCutPoint, without its model's summary",
  async prepare(all, budgetTokens) {
    const { findCutPoint, estimateTokens, shouldCompact } = await load("@mariozechner/pi-coding-agent");
    const talk = all.slice(1);
    const timestamp = "2026-01-15T09:30:00.000Z";
    const entries = talk.map((said, at) => ({
      type: "message",
      id: String(said.at),
      parentId: at === 0 ? null : String(said.at - 1),
      timestamp,
      message: piMessage(said),
    }));
    const [system] = all;
    const room = budgetTokens - system!.tokens;
    return async () => {
      const estimated = entries.reduce((sum, { message }) => sum + estimateTokens(message), 0);
      if (!shouldCompact(estimated, room, { enabled: true, reserveTokens: 0, keepRecentTokens: room }))
        return all;
      const { firstKeptEntryIndex } = findCutPoint(entries, 0, entries.length, room);
      const kept = talk.slice(firstKeptEntryIndex);
      // Where its model's summary would stand.
      const summary = { at: kept[0]!.at - 1, role: "user", text: "[summary]", tokens: 0 } as const;
      return [system!, summary, ...kept];
    };
  },
};

function piMessage({ role, text, call, callId }: Said) {
  const content = [{ type: "text", text }];
  if (role === "user") return { role, content, timestamp: 0 };
  if (role === "tool")
    return {
      role: "toolResult",
      toolCallId: callId,
      toolName: "search_records",
      content,
      isError: false,
      timestamp: 0,
    };
  const calls = call
    ? [{ type: "toolCall", id: call.id, name: call.name, arguments: JSON.parse(call.argumentsJson) }]
    : [];
  return { role: "assistant", content: [...content, ...calls], stopReason: "stop", timestamp: 0 };
}

const llamaindex: Engine = {
  package: "@llamaindex/core",
  way: "ChatMemoryBuffer",
  async prepare(all, tokenLimit) {
    const { ChatMemoryBuffer } = await load("@llamaindex/core/memory");
    const chatHistory = all.map(({ at, role, text: content, call, callId }) => ({
      role: role === "tool" ? "user" : role,
      content,
      options: {
        at,
        ...(call ? { toolCall: [{ id: call.id, name: call.name, input: call.argumentsJson }] } : {}),
        ...(callId ? { toolResult: { id: callId, result: content, isError: false } } : {}),
      },
    }));
    const memory = new ChatMemoryBuffer({
      tokenLimit,
      chatHistory,
      llm: { metadata: { contextWindow: tokenLimit } },
    });
    return async () =>
      (await memory.getMessages()).map((one: { options: { at: number } }) => all[one.options.at]!);
  },
};

const mastra: Engine = {
  package: "@mastra/core",
  way: "TokenLimiterProcessor",
  async prepare(all, limit) {
    const { TokenLimiterProcessor } = await load("@mastra/core/processors");
    const limiter = new TokenLimiterProcessor({ limit });
    const prompt = all.map(promptMessage);
    return async () => {
      const made = await limiter.processLLMRequest({ prompt: [...prompt] });
      const kept: { at: number }[] = made?.prompt ?? prompt;
      return kept.map(({ at }) => all[at]!);
    };
  },
};

/** A message of a provider prompt, as the AI SDK has them. */
function promptMessage({ at, role, text, call, callId }: Said) {
  if (role === "system") return { at, role, content: text };
  if (role === "tool") {
    const output = { type: "text", value: text };
    return {
      at,
      role,
      content: [{ type: "tool-result", toolCallId: callId, toolName: "search_records", output }],
    };
  }
  const calls = call
    ? [{ type: "tool-call", toolCallId: call.id, toolName: call.name, input: JSON.parse(call.argumentsJson) }]
    : [];
  return { at, role, content: [{ type: "text", text }, ...calls] };
}

const promptTsx: Engine = {
  package: "@vscode/prompt-tsx",
  way: "PromptRenderer, the newest first to stay",
  async prepare(all, modelMaxPromptTokens) {
    const loaded = await load("@vscode/prompt-tsx");
    const tsx = loaded.default ?? loaded;
    const {
      PromptElement,
      PromptRenderer,
      SystemMessage,
      UserMessage,
      AssistantMessage,
      ToolMessage,
      OutputMode,
    } = tsx;
    const counts = new Map(all.map(({ text, tokens }) => [text, tokens]));
    const byText = new Map(all.map((said) => [said.text, said]));
    const tokenizer = {
      mode: OutputMode.Raw,
      tokenLength: (part: { text?: string }) => counts.get(part.text ?? "") ?? 0,
      countMessageTokens: ({ content }: { content: { text?: string }[] }) =>
        content.reduce((sum, { text = "" }) => sum + (counts.get(text) ?? 0), 0),
    };
    const vscpp = (globalThis as Loaded).vscpp;
    class Prompt extends PromptElement {
      render() {
        return vscpp(
          (globalThis as Loaded).vscppf,
          null,
          ...all.map(({ at, role, text, call, callId }) => {
            const priority = role === "system" ? all.length + 1 : at;
            if (role === "system") return vscpp(SystemMessage, { priority }, text);
            if (role === "user") return vscpp(UserMessage, { priority }, text);
            if (role === "tool") return vscpp(ToolMessage, { priority, toolCallId: callId }, text);
            const toolCalls = call
              ? [
                  {
                    id: call.id,
                    type: "function",
                    function: { name: call.name, arguments: call.argumentsJson },
                  },
                ]
              : undefined;
            return vscpp(AssistantMessage, { priority, toolCalls }, text);
          }),
        );
      }
    }
    return async () => {
      const { messages } = await new PromptRenderer(
        { modelMaxPromptTokens },
        Prompt,
        {},
        tokenizer,
      ).renderRaw();
      return messages.flatMap(
        ({ content }: { content: { text?: string }[] }) =>
          byText.get(content.map(({ text = "" }) => text).join("")) ?? [],
      );
    };
  },
};

const aiSdk: Engine = {
  package: "ai",
  way: "pruneMessages, tool calls before the last ten messages (it knows no budget)",
  async prepare(all) {
    const { pruneMessages } = await load("ai");
    const messages = all.map(promptMessage);
    const options = { toolCalls: "before-last-10-messages", emptyMessages: "remove" };
    return async () => {
      const kept: { at: number; content: string | { type: string }[] }[] = pruneMessages({
        messages,
        ...options,
      });
      return kept.map(({ at, content }) => {
        const hasCall = Array.isArray(content) && content.some(({ type }) => type === "tool-call");
        const { call, ...said } = all[at]!;
        return hasCall && call ? { ...said, call } : said;
      });
    };
  },
};

export const engines: Readonly<Record<string, Engine>> = {
  LangChain: langchain,
  pi,
  LlamaIndex: llamaindex,
  Mastra: mastra,
  "prompt-tsx": promptTsx,
  "AI SDK": aiSdk,
};
