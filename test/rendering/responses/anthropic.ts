import type Anthropic from "@anthropic-ai/sdk";

type Blocks = Anthropic.Message["content"];

function answer(
  content: Blocks,
  stop_reason: Anthropic.StopReason,
  stop_details: Anthropic.Message["stop_details"] = null,
): Anthropic.Message {
  return {
    id: "msg_01",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-5-5",
    container: null,
    diagnostics: null,
    content,
    stop_reason,
    stop_details,
    stop_sequence: null,
    usage: {
      input_tokens: 12,
      cache_read_input_tokens: 1_000,
      cache_creation_input_tokens: 200,
      cache_creation: null,
      output_tokens: 40,
      output_tokens_details: { thinking_tokens: 8 },
      inference_geo: null,
      server_tool_use: null,
      service_tier: "standard",
      speed: null,
    },
  };
}

const direct = { type: "direct" } as const;

/** Answers of the Messages API, in the SDK's own types. */
export const anthropicResponses = {
  text: answer([{ type: "text", text: "Good morning.", citations: null }], "end_turn"),
  citations: answer(
    [
      { type: "text", text: "According to the report, ", citations: null },
      {
        type: "text",
        text: "sales grew by 4 %.",
        citations: [
          {
            type: "char_location",
            cited_text: "Sales grew by 4 %.",
            document_index: 0,
            document_title: "Report",
            start_char_index: 0,
            end_char_index: 18,
            file_id: null,
          },
        ],
      },
    ],
    "end_turn",
  ),
  "parallel-calls": answer(
    [
      { type: "text", text: "I look at both.", citations: null },
      { type: "tool_use", id: "toolu_1", name: "search", input: { q: "Lisbon", max: 3 }, caller: direct },
      { type: "tool_use", id: "toolu_2", name: "search", input: { q: "Porto" }, caller: direct },
    ],
    "tool_use",
  ),
  thinking: answer(
    [
      { type: "thinking", thinking: "Which one is cheaper?", signature: "c2lnbmVk" },
      { type: "redacted_thinking", data: "ZW5jcnlwdGVk" },
      { type: "tool_use", id: "toolu_3", name: "search", input: {}, caller: direct },
    ],
    "tool_use",
  ),
  refusal: answer([], "refusal", { type: "refusal", category: "cyber", explanation: "This is not allowed." }),
  truncation: answer(
    [
      { type: "text", text: "I write the file.", citations: null },
      { type: "tool_use", id: "toolu_4", name: "write", input: { path: "/tmp/x" }, caller: direct },
    ],
    "max_tokens",
  ),
  "server-tools": answer(
    [
      {
        type: "server_tool_use",
        id: "srvtoolu_1",
        name: "web_search",
        input: { query: "weather in Lisbon" },
        caller: direct,
      },
      {
        type: "web_search_tool_result",
        tool_use_id: "srvtoolu_1",
        caller: direct,
        content: [
          {
            type: "web_search_result",
            url: "https://example.com/lisbon",
            title: "Lisbon",
            encrypted_content: "ZW5jcnlwdGVk",
            page_age: null,
          },
        ],
      },
      { type: "text", text: "It is sunny.", citations: null },
    ],
    "end_turn",
  ),
} satisfies Readonly<Record<string, Anthropic.Message>>;
