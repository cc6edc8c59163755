import { describe, expect, test } from "vitest";
import { validateOpenaiChat } from "../../../src/rendering/openai-chat/validator.js";

const hello = { role: "user", content: "Hello." };
const call = { id: "call_1", type: "function", function: { name: "search", arguments: "{}" } };
const asks = { role: "assistant", content: null, tool_calls: [call] };
const answers = { role: "tool", tool_call_id: "call_1", content: "found" };
const search = {
  type: "function",
  function: { name: "search", parameters: { type: "object", properties: {} } },
};

const body = (...messages: readonly unknown[]) => ({ model: "gpt-6-sol", messages });
const says = (...content: readonly unknown[]) => body({ role: "user", content });
const takes = (parameters: unknown) => ({ type: "function", function: { name: "search", parameters } });
const asksFor = (...calls: readonly unknown[]) => body({ ...asks, tool_calls: calls }, answers);

const bad: readonly (readonly [rule: string, path: string, body: unknown])[] = [
  ["body_object", "", "Hello."],
  ["model_required", "model", { messages: [hello] }],
  ["unknown_field", "system", { ...body(hello), system: "Be brief." }],
  ["messages_required", "messages", body()],
  ["message_object", "messages[0]", body("Hello.")],
  ["role_unknown", "messages[0].role", body({ role: "model", content: "Hello." })],
  ["role_unknown", "messages[0].role", body({ role: "constructor", content: "Hello." })],
  ["content_required", "messages[0].content", body({ role: "user" })],
  ["content_required", "messages[0].content", body({ role: "assistant", content: null })],
  ["content_required", "messages[0].content", body({ role: "user", content: { text: "Hello." } })],
  ["content_empty", "messages[0].content", body({ role: "user", content: "" })],
  ["content_empty", "messages[0].content", says()],
  ["content_empty", "messages[0].content[0].text", says({ type: "text", text: "" })],
  ["text_required", "messages[0].content[0].text", says({ type: "text" })],
  ["content_type", "messages[0].content[0]", says({ type: "input_text", text: "Hello." })],
  [
    "content_type",
    "messages[2].content[0]",
    body(hello, asks, {
      ...answers,
      content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }],
    }),
  ],
  [
    "image_url",
    "messages[0].content[0].image_url.url",
    says({ type: "image_url", image_url: { url: "gs://a/b.png" } }),
  ],
  [
    "image_url",
    "messages[0].content[0].image_url.url",
    says({ type: "image_url", image_url: { url: "data:image/bmp;base64,aGk=" } }),
  ],
  [
    "file_source",
    "messages[0].content[0].file",
    says({ type: "file", file: { file_url: "https://example.com/a.pdf" } }),
  ],
  [
    "file_data",
    "messages[0].content[0].file.file_data",
    says({ type: "file", file: { filename: "a.txt", file_data: "data:text/plain;base64,aGk=" } }),
  ],
  [
    "audio",
    "messages[0].content[0].input_audio",
    says({ type: "input_audio", input_audio: { data: "aGk=", format: "ogg" } }),
  ],
  ["tool_calls_empty", "messages[0].tool_calls", body({ role: "assistant", content: "So.", tool_calls: [] })],
  ["tool_calls_too_many", "messages[0].tool_calls", manyCalls(129)],
  ["tool_call_shape", "messages[0].tool_calls[1]", asksFor(call, { id: "call_2", name: "search" })],
  ["call_id_length", "messages[0].tool_calls[1].id", asksFor(call, { ...call, id: "x".repeat(41) })],
  ["call_id_duplicate", "messages[0].tool_calls[1].id", asksFor(call, call)],
  [
    "tool_name_pattern",
    "messages[0].tool_calls[0].function.name",
    asksFor({ ...call, function: { name: "wallet/list", arguments: "{}" } }),
  ],
  [
    "arguments_string",
    "messages[0].tool_calls[0].function.arguments",
    asksFor({ ...call, function: { name: "search", arguments: {} } }),
  ],
  ["tool_result_missing", "messages[1]", body(hello, asks)],
  ["tool_result_missing", "messages[1]", body(hello, asks, hello, answers)],
  ["tool_result_unexpected", "messages[1]", body(hello, answers)],
  ["tool_result_unexpected", "messages[3]", body(hello, asks, answers, answers)],
  ["tools_empty", "tools", { ...body(hello), tools: [] }],
  ["tools_too_many", "tools", { ...body(hello), tools: manyTools(129) }],
  ["tool_shape", "tools[0]", { ...body(hello), tools: [{ type: "function", name: "search" }] }],
  ["tool_name_duplicate", "tools[1].function.name", { ...body(hello), tools: [search, search] }],
  [
    "tool_schema_object",
    "tools[0].function.parameters",
    { ...body(hello), tools: [takes({ type: "string" })] },
  ],
  [
    "tool_schema_top_level",
    "tools[0].function.parameters",
    { ...body(hello), tools: [takes({ type: "object", properties: {}, anyOf: [] })] },
  ],
  [
    "tool_schema_properties",
    "tools[0].function.parameters",
    { ...body(hello), tools: [takes({ type: "object" })] },
  ],
  [
    "tool_schema_items",
    "tools[0].function.parameters",
    { ...body(hello), tools: [takes({ type: "object", properties: { days: { type: "array" } } })] },
  ],
  ["temperature_range", "temperature", { ...body(hello), temperature: 3 }],
  ["temperature_with_reasoning", "temperature", { ...body(hello), temperature: 0, reasoning_effort: "low" }],
  ["effort_unknown", "reasoning_effort", { ...body(hello), reasoning_effort: "extreme" }],
  ["max_tokens_range", "max_completion_tokens", { ...body(hello), max_completion_tokens: 0 }],
  ["max_tokens_twice", "max_tokens", { ...body(hello), max_tokens: 9, max_completion_tokens: 9 }],
  ["cache_key_length", "prompt_cache_key", { ...body(hello), prompt_cache_key: "k".repeat(65) }],
  ["cache_options", "prompt_cache_options", { ...body(hello), prompt_cache_options: { ttl: "1h" } }],
  [
    "breakpoint_place",
    "messages[0].content[0].prompt_cache_breakpoint",
    body({
      role: "assistant",
      content: [{ type: "text", text: "So.", prompt_cache_breakpoint: { mode: "explicit" } }],
    }),
  ],
  [
    "breakpoint_mode",
    "messages[0].content[0].prompt_cache_breakpoint",
    says({ type: "text", text: "Hello.", prompt_cache_breakpoint: true }),
  ],
];

function manyCalls(count: number) {
  const calls = Array.from({ length: count }, (_, at) => ({ ...call, id: `call_${at}` }));
  return body({ ...asks, tool_calls: calls }, ...calls.map(({ id }) => ({ ...answers, tool_call_id: id })));
}

function manyTools(count: number) {
  return Array.from({ length: count }, (_, at) => ({ type: "function", function: { name: `tool_${at}` } }));
}

describe("validateOpenaiChat", () => {
  test.each(bad)("refuses what breaks %s at %s", (rule, path, refused) => {
    const found = validateOpenaiChat(refused);
    expect(found).toContainEqual({ rule, path, message: expect.stringMatching(/^.{8,}$/) });
  });

  test("takes what Chat Completions take", () => {
    const taken = [
      body(hello),
      body({ role: "developer", content: "Be brief." }, hello, asks, answers, {
        role: "assistant",
        content: "Yes.",
      }),
      body(
        hello,
        { ...asks, content: "I look." },
        { ...answers, content: [{ type: "text", text: "found" }] },
      ),
      says({ type: "image_url", image_url: { url: "data:image/png;base64,aGk=", detail: "low" } }),
      says({ type: "file", file: { file_id: "file-1" } }, { type: "text", text: "What is it?" }),
      { ...body(hello), tools: [search], temperature: 0, reasoning_effort: "none", stream: true },
      manyCalls(128),
    ];
    for (const one of taken) expect(validateOpenaiChat(one)).toEqual([]);
  });

  test("names every call that is not answered", () => {
    const found = validateOpenaiChat(body({ ...asks, tool_calls: [call, { ...call, id: "call_2" }] }, hello));
    expect(found.map(({ message }) => message)).toEqual([
      'the call "call_1" is not answered by a tool message directly after',
      'the call "call_2" is not answered by a tool message directly after',
    ]);
  });
});
