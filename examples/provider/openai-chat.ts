import {
  checkFunction,
  checkId,
  checkModel,
  checkName,
  openaiError,
  openaiTooLong,
  plainPieces,
  saidIn,
} from "./openai.js";
import { type Api, type Json, onlyFields, require, tokensOf } from "./provider.js";
import { Issued } from "./script.js";

const messageFields: Readonly<Record<string, string>> = {
  system: "role content name",
  developer: "role content name",
  user: "role content name",
  assistant: "role content name refusal tool_calls audio annotations",
  tool: "role content tool_call_id",
};

/** Chat Completions, for a model that reasons. */
export function openaiChatApi(): Api {
  const issued = new Issued((message) =>
    message.role === "assistant" ? message.tool_calls?.[0]?.id : undefined,
  );
  const api: Api = {
    name: "openai-chat",
    path: "/v1/chat/completions",
    paths: /^\/v1\/chat\/completions$/,
    check(body) {
      checkModel(body);
      require(body.max_tokens ===
        undefined, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.");
      onlyFields(
        body,
        `model messages tools tool_choice reasoning_effort max_completion_tokens prompt_cache_key prompt_cache_options
        parallel_tool_calls metadata store stream stream_options`,
        "",
      );
      require(body.tools === undefined || body.tools.length > 0, "Invalid 'tools': empty array");
      for (const tool of body.tools ?? []) {
        onlyFields(tool, "type function", "tools");
        checkFunction({ type: "function", ...tool.function }, "tools");
      }
      checkMessages(body.messages);
      issued.check(body.messages);
    },
    pieces: (body) => plainPieces([...(body.tools ?? []), ...body.messages]),
    reads: (body) => ({
      said: body.messages.flatMap(({ role, content }: Json) =>
        ["user", "assistant", "tool"].includes(role) ? saidIn(role, content) : [],
      ),
      tools: (body.tools ?? []).map((tool: Json) => tool.function.name),
    }),
    answer({ body, number, tokens }, step) {
      const toolCalls = step.calls.map(({ name, input }, at) => ({
        id: `call_c${number}_${at}`,
        type: "function",
        function: { name, arguments: JSON.stringify(input) },
      }));
      const said = { role: "assistant", content: step.text };
      const message = toolCalls.length > 0 ? { ...said, tool_calls: toolCalls } : said;
      issued.keep([message]);
      const written = tokensOf(JSON.stringify(message));
      return {
        id: `chatcmpl_${number}`,
        object: "chat.completion",
        model: body.model,
        choices: [
          {
            index: 0,
            finish_reason: toolCalls.length > 0 ? "tool_calls" : "stop",
            message: { ...message, refusal: null, annotations: [] },
          },
        ],
        usage: {
          prompt_tokens: tokens.input,
          prompt_tokens_details: { cached_tokens: tokens.cached },
          completion_tokens: written,
          total_tokens: tokens.input + written,
        },
      };
    },
    tooLong: openaiTooLong,
    error: openaiError,
  };
  return api;
}

function checkMessages(messages: Json): void {
  require(Array.isArray(messages) && messages.length > 0, "Invalid 'messages': empty array");
  let open = new Set<string>();
  messages.forEach((message: Json, at: number) => {
    const path = `messages[${at}]`;
    require(Object.hasOwn(messageFields, message.role), `Invalid value: '${message.role}'`);
    onlyFields(message, messageFields[message.role]!, path);
    const { content } = message;
    const isEmpty = content === undefined || content === null || content === "" || content.length === 0;
    const maySayNothing = message.role === "assistant" && (message.tool_calls || message.refusal);
    require(!isEmpty ||
      maySayNothing, `Invalid value for 'content' of '${path}': expected a string, got null.`);
    if (message.role === "tool") {
      require(open.delete(
        message.tool_call_id,
      ), `${path}: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.`);
      return;
    }
    require(open.size ===
      0, `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. Missing: ${[...open]}`);
    open = new Set();
    for (const call of message.tool_calls ?? []) {
      onlyFields(call, "id type function", `${path}.tool_calls`);
      checkId(call.id, `${path}.tool_calls.id`, 40);
      checkName(call.function.name, `${path}.tool_calls.function`);
      require(typeof call.function.arguments ===
        "string", `Invalid type for '${path}.tool_calls.function.arguments'`);
      require(!open.has(call.id), `${path}: duplicate tool_call id ${call.id}`);
      open.add(call.id);
    }
    require(message.tool_calls === undefined ||
      message.tool_calls.length > 0, `Invalid '${path}.tool_calls': empty array`);
  });
  require(open.size === 0, `'tool_call_id's without a response: ${[...open]}`);
}
