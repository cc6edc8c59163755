import type OpenAI from "openai";

type Output = OpenAI.Responses.Response["output"];
type Fields = Pick<
  OpenAI.Responses.Response,
  "id" | "object" | "created_at" | "model" | "status" | "output" | "usage" | "incomplete_details" | "error"
>;

function response(output: Output, incomplete: "max_output_tokens" | "content_filter" | null = null): Fields {
  return {
    id: "resp_1",
    object: "response",
    created_at: 1_780_000_000,
    model: "gpt-6-sol",
    status: incomplete === null ? "completed" : "incomplete",
    error: null,
    incomplete_details: incomplete === null ? null : { reason: incomplete },
    output,
    usage: {
      input_tokens: 1_212,
      input_tokens_details: { cached_tokens: 1_024, cache_write_tokens: 100 },
      output_tokens: 40,
      output_tokens_details: { reasoning_tokens: 8 },
      total_tokens: 1_252,
    },
  };
}

const said = (id: string, text: string): Output[number] => ({
  id,
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
});

/** Answers of Responses, in the SDK's own types. */
export const openaiResponses = {
  text: response([said("msg_1", "Good morning.")]),
  citations: response([
    {
      id: "msg_2",
      type: "message",
      role: "assistant",
      status: "completed",
      phase: "final_answer",
      content: [
        {
          type: "output_text",
          text: "Sales grew by 4 %.",
          annotations: [
            {
              type: "url_citation",
              url: "https://example.com",
              title: "Report",
              start_index: 0,
              end_index: 18,
            },
          ],
        },
        { type: "output_text", text: "No more is known.", annotations: [] },
      ],
    },
  ]),
  "parallel-calls": response([
    said("msg_3", "I look at both."),
    {
      id: "fc_1",
      type: "function_call",
      call_id: "call_1",
      name: "search",
      arguments: '{"q": "Lisbon"}',
      status: "completed",
    },
    {
      id: "fc_2",
      type: "function_call",
      call_id: "call_2",
      name: "search",
      arguments: '{"q":"Porto"}',
      status: "completed",
    },
  ]),
  thinking: response([
    {
      id: "rs_1",
      type: "reasoning",
      summary: [{ type: "summary_text", text: "Which is cheaper?" }],
      encrypted_content: "ZW5j",
    },
    {
      id: "fc_3",
      type: "function_call",
      call_id: "call_3",
      name: "search",
      arguments: "{}",
      status: "completed",
    },
  ]),
  refusal: response([
    {
      id: "msg_4",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "refusal", refusal: "I cannot help with that." }],
    },
  ]),
  truncation: response(
    [
      said("msg_5", "I write the file."),
      {
        id: "fc_4",
        type: "function_call",
        call_id: "call_4",
        name: "write",
        arguments: '{"path": "/tm',
        status: "incomplete",
      },
    ],
    "max_output_tokens",
  ),
  "server-tools": response([
    {
      id: "ws_1",
      type: "web_search_call",
      status: "completed",
      action: { type: "search", query: "weather in Lisbon", queries: ["weather in Lisbon"] },
    },
    said("msg_6", "It is sunny."),
  ]),
} satisfies Readonly<Record<string, Fields>>;

type Choice = OpenAI.ChatCompletion["choices"][number];

function completion(...choices: readonly Omit<Choice, "index" | "logprobs">[]): OpenAI.ChatCompletion {
  return {
    id: "chatcmpl_1",
    object: "chat.completion",
    created: 1_780_000_000,
    model: "gpt-6-sol",
    choices: choices.map((choice, index) => ({ ...choice, index, logprobs: null })),
    usage: {
      prompt_tokens: 1_212,
      prompt_tokens_details: { cached_tokens: 1_024, cache_write_tokens: 100 },
      completion_tokens: 40,
      completion_tokens_details: { reasoning_tokens: 8 },
      total_tokens: 1_252,
    },
  };
}

const call = (id: string, name: string, args: string) =>
  ({ id, type: "function", function: { name, arguments: args } }) as const;

/** Answers of Chat Completions, in the SDK's own types. */
export const chatResponses = {
  text: completion({
    finish_reason: "stop",
    message: { role: "assistant", content: "Good morning.", refusal: null, annotations: [] },
  }),
  citations: completion({
    finish_reason: "stop",
    message: {
      role: "assistant",
      content: "Sales grew by 4 %.",
      refusal: null,
      annotations: [
        {
          type: "url_citation",
          url_citation: { url: "https://example.com", title: "Report", start_index: 0, end_index: 18 },
        },
      ],
    },
  }),
  "parallel-calls": completion({
    finish_reason: "tool_calls",
    message: {
      role: "assistant",
      content: "I look at both.",
      refusal: null,
      tool_calls: [call("call_1", "search", '{"q": "Lisbon"}'), call("call_2", "search", '{"q":"Porto"}')],
    },
  }),
  refusal: completion({
    finish_reason: "stop",
    message: { role: "assistant", content: null, refusal: "I cannot help with that." },
  }),
  truncation: completion({
    finish_reason: "length",
    message: {
      role: "assistant",
      content: null,
      refusal: null,
      tool_calls: [call("call_4", "write", '{"path": "/tm')],
    },
  }),
  "several-candidates": completion(
    { finish_reason: "stop", message: { role: "assistant", content: "Heads.", refusal: null } },
    { finish_reason: "stop", message: { role: "assistant", content: "Tails.", refusal: null } },
  ),
} satisfies Readonly<Record<string, OpenAI.ChatCompletion>>;
