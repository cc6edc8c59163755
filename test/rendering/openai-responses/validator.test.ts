import { describe, expect, test } from "vitest";
import { validateOpenaiResponses } from "../../../src/rendering/openai-responses/validator.js";

const hello = { role: "user", content: "Hello." };
const call = { type: "function_call", call_id: "call_1", name: "search", arguments: "{}" };
const output = { type: "function_call_output", call_id: "call_1", output: "found" };
const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "ZW5j" };
const answer = { role: "assistant", content: "Yes." };
const search = {
  type: "function",
  name: "search",
  parameters: { type: "object", properties: {} },
  strict: false,
};

const body = (...input: readonly unknown[]) => ({ model: "gpt-6-sol", store: false, input });
const says = (...content: readonly unknown[]) => body({ role: "user", content });
const withTools = (...tools: readonly unknown[]) => ({ ...body(hello), tools });
const takes = (parameters: unknown) => withTools({ ...search, parameters });

const bad: readonly (readonly [rule: string, path: string, body: unknown])[] = [
  ["body_object", "", ["Hello."]],
  ["model_required", "model", { input: "Hello." }],
  ["unknown_field", "messages", { ...body(hello), messages: [hello] }],
  ["unknown_field", "max_tokens", { ...body(hello), max_tokens: 100 }],
  ["input_required", "input", body()],
  ["input_required", "input", { model: "gpt-6-sol", store: false, instructions: "Be brief." }],
  ["content_empty", "input", { model: "gpt-6-sol", input: "" }],
  ["item_object", "input[0]", body("Hello.")],
  ["item_type", "input[0].type", body({ type: "tool_use", id: "toolu_1" })],
  ["item_type", "input[0].type", body({ text: "Hello." })],
  ["role_unknown", "input[0].role", body({ role: "tool", content: "found" })],
  ["content_required", "input[0].content", body({ role: "user" })],
  ["content_empty", "input[0].content", says()],
  ["content_empty", "input[0].content[0].text", says({ type: "input_text", text: "" })],
  ["content_type", "input[0].content[0]", says({ type: "text", text: "Hello." })],
  [
    "content_type",
    "input[0].content[0]",
    body({ role: "assistant", content: [{ type: "input_text", text: "Yes." }] }),
  ],
  [
    "image_url",
    "input[0].content[0].image_url",
    says({ type: "input_image", image_url: { url: "https://a.b/c.png" } }),
  ],
  [
    "image_url",
    "input[0].content[0].image_url",
    says({ type: "input_image", image_url: "data:application/pdf;base64,aGk=" }),
  ],
  ["file_source", "input[0].content[0]", says({ type: "input_file", filename: "a.pdf" })],
  [
    "file_data",
    "input[0].content[0].file_data",
    says({ type: "input_file", filename: "a.pdf", file_data: "aGk=" }),
  ],
  ["file_url", "input[0].content[0].file_url", says({ type: "input_file", file_url: "file:///a.pdf" })],
  ["call_id_length", "input[1].call_id", body(hello, { ...call, call_id: "x".repeat(65) })],
  ["call_id_duplicate", "input[2].call_id", body(call, output, call, output)],
  ["tool_name_pattern", "input[0].name", body({ ...call, name: "wallet/list" }, output)],
  ["arguments_string", "input[0].arguments", body({ ...call, arguments: {} }, output)],
  ["content_empty", "input[1].output", body(call, { ...output, output: "" })],
  ["tool_result_missing", "input[1]", body(hello, call)],
  ["tool_result_unexpected", "input[0]", body(output)],
  ["tool_result_unexpected", "input[0]", body(output, call)],
  ["tool_result_unexpected", "input[2]", body(call, output, output)],
  ["tool_result_unexpected", "input[1]", body(call, { ...output, type: "custom_tool_call_output" })],
  ["reasoning_without_follower", "input[1]", body(hello, thought)],
  ["reasoning_without_follower", "input[0]", body(thought, hello)],
  ["reasoning_without_follower", "input[1]", body(call, thought, output)],
  [
    "reasoning_encrypted",
    "input[0].encrypted_content",
    body({ ...thought, encrypted_content: null }, answer),
  ],
  [
    "reasoning_summary",
    "input[0].summary",
    body({ type: "reasoning", id: "rs_1", encrypted_content: "ZW5j" }, answer),
  ],
  ["reasoning_id", "input[0].id", body({ ...thought, id: 1 }, answer)],
  ["item_id_duplicate", "input[2].id", body(thought, answer, thought, answer)],
  ["item_not_stored", "input[0]", body({ type: "item_reference", id: "rs_1" })],
  ["tool_shape", "tools[0]", withTools({ type: "function", function: { name: "search" } })],
  ["tool_shape", "tools[0]", withTools({ name: "search" })],
  ["tool_name_pattern", "tools[0].name", withTools({ ...search, name: "" })],
  ["tool_name_duplicate", "tools[1].name", withTools(search, search)],
  ["tool_schema_object", "tools[0].parameters", takes([])],
  ["tool_schema_top_level", "tools[0].parameters", takes({ type: "object", properties: {}, not: {} })],
  [
    "tool_schema_items",
    "tools[0].parameters",
    takes({ type: "object", properties: { a: { anyOf: [{ type: "array" }] } } }),
  ],
  ["max_tokens_range", "max_output_tokens", { ...body(hello), max_output_tokens: 15 }],
  ["temperature_range", "temperature", { ...body(hello), temperature: "hot" }],
  [
    "temperature_with_reasoning",
    "temperature",
    { ...body(hello), temperature: 0.2, reasoning: { effort: "high" } },
  ],
  ["reasoning_object", "reasoning", { ...body(hello), reasoning: "high" }],
  ["effort_unknown", "reasoning.effort", { ...body(hello), reasoning: { effort: "extreme" } }],
  ["include_unknown", "include", { ...body(hello), include: ["encrypted_content"] }],
  [
    "instructions_string",
    "instructions",
    { ...body(hello), instructions: [{ type: "input_text", text: "Be brief." }] },
  ],
  ["cache_key_length", "prompt_cache_key", { ...body(hello), prompt_cache_key: "k".repeat(65) }],
  ["cache_options", "prompt_cache_options", { ...body(hello), prompt_cache_options: { mode: "auto" } }],
  [
    "breakpoint_place",
    "input[0].content[0].prompt_cache_breakpoint",
    body({
      role: "assistant",
      content: [{ type: "output_text", text: "Yes.", prompt_cache_breakpoint: { mode: "explicit" } }],
    }),
  ],
  [
    "breakpoint_mode",
    "input[0].content[0].prompt_cache_breakpoint",
    says({ type: "input_text", text: "Hello.", prompt_cache_breakpoint: { type: "ephemeral" } }),
  ],
];

describe("validateOpenaiResponses", () => {
  test.each(bad)("refuses what breaks %s at %s", (rule, path, refused) => {
    const found = validateOpenaiResponses(refused);
    expect(found).toContainEqual({ rule, path, message: expect.stringMatching(/^.{8,}$/) });
  });

  test("takes what Responses take", () => {
    const taken = [
      { model: "gpt-6-sol", input: "Hello." },
      body(hello, thought, call, output, { ...thought, id: "rs_2" }, answer, hello),
      body(
        hello,
        { ...call, call_id: "a" },
        { ...call, call_id: "b" },
        { ...output, call_id: "b" },
        { ...output, call_id: "a" },
      ),
      body(
        thought,
        { ...thought, id: "rs_2" },
        { type: "web_search_call", id: "ws_1", status: "completed" },
        answer,
      ),
      body(call, { ...output, output: [{ type: "input_image", image_url: "data:image/png;base64,aGk=" }] }),
      says(
        { type: "input_file", file_url: "https://example.com/a.pdf" },
        { type: "input_image", file_id: "file-1" },
      ),
      { ...body(output), previous_response_id: "resp_1" },
      { model: "gpt-6-sol", input: [{ ...thought, encrypted_content: null }, answer] },
      {
        ...withTools(search, { type: "web_search" }),
        reasoning: { effort: "low" },
        include: ["reasoning.encrypted_content"],
      },
    ];
    for (const one of taken) expect(validateOpenaiResponses(one)).toEqual([]);
  });
});
