import { describe, expect, test } from "vitest";
import { validateAnthropic } from "../../../src/rendering/anthropic/validator.js";

type Fields = Readonly<Record<string, unknown>>;

const says = (content: unknown) => ({ role: "user", content });
const answers = (content: unknown) => ({ role: "assistant", content });
const use = (id: string, fields: Fields = {}) => ({
  type: "tool_use",
  id,
  name: "search",
  input: {},
  ...fields,
});
const gives = (id: string, fields: Fields = {}) => ({
  type: "tool_result",
  tool_use_id: id,
  content: "ok",
  ...fields,
});
const block = (text: string, fields: Fields = {}) => ({ type: "text", text, ...fields });
const schema = { type: "object", properties: {} };
const ephemeral = { cache_control: { type: "ephemeral" } };

function body(fields: Fields): Fields {
  const given = { model: "claude-sonnet-4-5", max_tokens: 8_000, messages: [says("Hi.")], ...fields };
  const isCalling = /"tool_(use|result)"/.test(JSON.stringify(given.messages));
  return isCalling ? { tools: [{ name: "search", input_schema: schema }], ...given } : given;
}

/** A conversation with one call, its result and what stands around them. */
function loop(asked: readonly unknown[], answered: readonly unknown[], fields: Fields = {}): Fields {
  return body({ messages: [says("Hi."), answers(asked), says(answered)], ...fields });
}

const image = (source: Fields) => body({ messages: [says([{ type: "image", source }])] });
const document = (source: Fields, fields: Fields = {}) =>
  body({ messages: [says([{ type: "document", source, ...fields }])] });
const tool = (...tools: readonly Fields[]) =>
  body({ tools: tools.map((given) => ({ input_schema: schema, ...given })) });
const thinkingOn = { thinking: { type: "enabled", budget_tokens: 2_000 } };
const thought = { type: "thinking", thinking: "Hm.", signature: "c2ln" };

/** The rule that is broken, where, the body, and a word of the message. */
const bad: readonly (readonly [rule: string, path: string, body: unknown, word: string])[] = [
  ["body_not_object", "", [], "object"],
  ["model_missing", "model", body({ model: undefined }), "model"],
  ["max_tokens_invalid", "max_tokens", body({ max_tokens: undefined }), "whole number"],
  ["max_tokens_invalid", "max_tokens", body({ max_tokens: 1.5 }), "whole number"],
  ["messages_empty", "messages", body({ messages: [] }), "at least one"],
  ["tools_missing", "tools", loop([use("a")], [gives("a")], { tools: undefined }), "must define tools"],
  [
    "role_unknown",
    "messages[1].role",
    body({ messages: [says("Hi."), { role: "tool", content: "x" }] }),
    "role",
  ],
  [
    "role_unknown",
    "messages[1].role",
    body({ messages: [says("Hi."), { role: "system", content: "x" }] }),
    "role",
  ],
  [
    "first_message_not_user",
    "messages[0]",
    body({ messages: [answers("Hi."), says("Yes?")] }),
    "first message",
  ],
  ["content_empty", "messages[0].content", body({ messages: [says([])] }), "content"],
  ["empty_text", "messages[0].content", body({ messages: [says(" ")] }), "white space"],
  [
    "empty_text",
    "messages[0].content[1]",
    body({ messages: [says([block("a"), block("")])] }),
    "white space",
  ],
  ["block_invalid", "messages[0].content[0]", body({ messages: [says(["Hi."])] }), "type"],
  ["block_type_unknown", "messages[0].content[0]", body({ messages: [says([{ type: "audio" }])] }), "audio"],
  ["block_not_allowed", "messages[0].content[0]", body({ messages: [says([thought])] }), "thinking"],
  [
    "block_not_allowed",
    "messages[1].content[0]",
    body({ messages: [says("Hi."), answers([{ type: "image" }]), says("?")] }),
    "image",
  ],
  [
    "image_media_type",
    "messages[0].content[0].source.media_type",
    image({ type: "base64", media_type: "image/bmp", data: "YQ==" }),
    "image/png",
  ],
  [
    "base64_invalid",
    "messages[0].content[0].source.data",
    image({ type: "base64", media_type: "image/png", data: "%" }),
    "base64",
  ],
  ["image_source_invalid", "messages[0].content[0].source", image({ type: "path" }), "url"],
  [
    "url_not_https",
    "messages[0].content[0].source.url",
    image({ type: "url", url: "http://example.com" }),
    "https",
  ],
  [
    "document_media_type",
    "messages[0].content[0].source.media_type",
    document({ type: "base64", media_type: "text/html", data: "YQ==" }),
    "pdf",
  ],
  ["document_source_invalid", "messages[0].content[0].source", document({ type: "path" }), "source"],
  [
    "document_title_invalid",
    "messages[0].content[0].title",
    document({ type: "file", file_id: "f" }, { title: "" }),
    "500",
  ],
  ["tool_use_id_invalid", "messages[1].content[0].id", loop([use("a b")], [gives("a b")]), "a-zA-Z0-9_-"],
  [
    "tool_use_name_invalid",
    "messages[1].content[0].name",
    loop([use("a", { name: "a.b" })], [gives("a")]),
    "match",
  ],
  [
    "tool_use_input_not_object",
    "messages[1].content[0].input",
    loop([use("a", { input: "{}" })], [gives("a")]),
    "object",
  ],
  [
    "tool_use_id_duplicate",
    "messages[3].content[0].id",
    body({
      messages: [
        says("Hi."),
        answers([use("a")]),
        says([gives("a")]),
        answers([use("a")]),
        says([gives("a")]),
      ],
    }),
    "unique",
  ],
  ["tool_result_missing", "messages[1].content[1]", loop([use("a"), use("b")], [gives("a")]), "b"],
  [
    "tool_result_missing",
    "messages[1].content[0]",
    loop([use("a")], [block("Never mind.")]),
    "no tool_result",
  ],
  [
    "tool_result_unexpected",
    "messages[0].content[0]",
    body({ messages: [says([gives("a")])] }),
    "no tool_use a",
  ],
  [
    "tool_result_unexpected",
    "messages[2].content[1]",
    loop([use("a")], [gives("a"), gives("b")]),
    "no tool_use b",
  ],
  [
    "tool_result_duplicate",
    "messages[2].content[1]",
    loop([use("a")], [gives("a"), gives("a")]),
    "more than one",
  ],
  ["tool_results_not_first", "messages[2].content[1]", loop([use("a")], [block("So:"), gives("a")]), "first"],
  [
    "tool_result_empty_error",
    "messages[2].content[0]",
    loop([use("a")], [gives("a", { content: "", is_error: true })]),
    "is_error",
  ],
  [
    "tool_result_content_invalid",
    "messages[2].content[0].content",
    loop([use("a")], [gives("a", { content: 3 })]),
    "blocks",
  ],
  [
    "server_result_missing",
    "messages[1].content[0]",
    loop([use("s", { type: "server_tool_use" })], [block("?")]),
    "result",
  ],
  [
    "server_result_unexpected",
    "messages[1].content[0]",
    loop([gives("s", { type: "web_search_tool_result" }), block("x")], [block("?")]),
    "before",
  ],
  [
    "thinking_signature_missing",
    "messages[1].content[0]",
    loop([{ ...thought, signature: "" }, use("a")], [gives("a")]),
    "signature",
  ],
  [
    "redacted_thinking_data_missing",
    "messages[1].content[0]",
    loop([{ type: "redacted_thinking" }, use("a")], [gives("a")]),
    "data",
  ],
  ["ends_with_thinking", "messages[1].content[0]", loop([thought], [block("?")]), "final block"],
  ["thinking_not_first", "messages[1].content[0]", loop([use("a")], [gives("a")], thinkingOn), "start with"],
  [
    "ends_with_assistant",
    "messages[1].content[0]",
    body({ model: "claude-opus-4-6", messages: [says("Hi."), answers("I")] }),
    "end with a user",
  ],
  [
    "trailing_whitespace",
    "messages[1].content[0]",
    body({ messages: [says("Hi."), answers("I ")] }),
    "white space",
  ],
  ["thinking_type_unknown", "thinking.type", body({ thinking: { type: "on" } }), "adaptive"],
  [
    "thinking_budget_too_small",
    "thinking.budget_tokens",
    body({ thinking: { type: "enabled", budget_tokens: 500 } }),
    "1024",
  ],
  [
    "thinking_budget_not_below_max_tokens",
    "thinking.budget_tokens",
    body({ ...thinkingOn, max_tokens: 2_000 }),
    "below max_tokens",
  ],
  [
    "thinking_enabled_unsupported",
    "thinking.type",
    body({ ...thinkingOn, model: "claude-opus-5" }),
    "adaptive",
  ],
  [
    "thinking_adaptive_unsupported",
    "thinking.type",
    body({ thinking: { type: "adaptive" } }),
    "budget_tokens",
  ],
  ["effort_unknown", "output_config.effort", body({ output_config: { effort: "huge" } }), "xhigh"],
  ["temperature_range", "temperature", body({ temperature: 1.2 }), "0 to 1"],
  ["temperature_with_thinking", "temperature", body({ ...thinkingOn, temperature: 0.5 }), "thinks"],
  [
    "temperature_unsupported",
    "temperature",
    body({ model: "claude-fable-5-1", temperature: 0.5 }),
    "deprecated",
  ],
  ["top_p_range", "top_p", body({ top_p: 2 }), "0 to 1"],
  ["tool_name_invalid", "tools[0].name", tool({ name: "a.b" }), "match"],
  ["tool_name_duplicate", "tools[1].name", tool({ name: "a" }, { name: "a" }), "unique"],
  [
    "tool_schema_not_object",
    "tools[0].input_schema",
    tool({ name: "a", input_schema: { type: "string" } }),
    "object",
  ],
  [
    "tool_schema_combined",
    "tools[0].input_schema",
    tool({ name: "a", input_schema: { ...schema, anyOf: [] } }),
    "top level",
  ],
  [
    "tool_schema_property_name",
    "tools[0].input_schema.properties",
    tool({ name: "a", input_schema: { type: "object", properties: { "a b": {} } } }),
    "keys",
  ],
  ["tool_choice_invalid", "tool_choice", { ...tool({ name: "a" }), tool_choice: "auto" }, "auto"],
  ["tool_choice_without_tools", "tool_choice", body({ tool_choice: { type: "auto" } }), "with tools"],
  [
    "tool_choice_unknown_tool",
    "tool_choice.name",
    { ...tool({ name: "a" }), tool_choice: { type: "tool", name: "b" } },
    "not among",
  ],
  [
    "tool_choice_with_thinking",
    "tool_choice",
    { ...tool({ name: "a" }), ...thinkingOn, tool_choice: { type: "any" } },
    "forces",
  ],
  ["system_invalid", "system", body({ system: 3 }), "text blocks"],
  ["empty_text", "system[0]", body({ system: [block("", ephemeral)] }), "white space"],
  [
    "cache_control_invalid",
    "system[0].cache_control",
    body({ system: [block("a", { cache_control: { type: "ephemeral", ttl: "2h" } })] }),
    "1h",
  ],
  [
    "cache_control_count",
    "system[4]",
    body({ system: Array.from("abcde", (text) => block(text, ephemeral)) }),
    "at most 4",
  ],
  [
    "cache_control_ttl_order",
    "messages[0].content[0]",
    body({
      system: [block("a", ephemeral)],
      messages: [says([block("a", { cache_control: { type: "ephemeral", ttl: "1h" } })])],
    }),
    "after",
  ],
  [
    "cache_control_on_thinking",
    "messages[1].content[0].cache_control",
    loop([{ ...thought, ...ephemeral }, use("a")], [gives("a")]),
    "cannot carry",
  ],
];

describe("anthropic: a bad body is refused with its rule, its place and a message", () => {
  test.each(bad)("%s at %s", (rule, path, given, word) => {
    const found = validateAnthropic(given);
    expect(found.map((problem) => [problem.rule, problem.path])).toContainEqual([rule, path]);
    expect(new Set(found.map((problem) => problem.rule)).size).toBe(1);
    expect(found[0]?.message).toContain(word);
  });
});

describe("anthropic: what the API takes is not refused", () => {
  const good: Readonly<Record<string, unknown>> = {
    "a text as content": body({}),
    "neighbours of one role": body({ messages: [says("Hi."), says("There?")] }),
    "results in several user messages": body({
      messages: [
        says("Hi."),
        answers([use("a"), use("b")]),
        says([gives("a")]),
        says([gives("b"), block("So?")]),
      ],
    }),
    "the beginning of an answer, for models that go on from there": body({
      messages: [says("Hi."), answers("I")],
    }),
    "thinking before calls": loop([thought, use("a")], [gives("a")], thinkingOn),
    "a longer ttl before a shorter one": body({
      system: [block("a", { cache_control: { type: "ephemeral", ttl: "1h" } }), block("b", ephemeral)],
    }),
    "the provider's own tools": body({ tools: [{ type: "web_search_20250305", name: "web_search" }] }),
    "instructions between messages, for models that take them": body({
      model: "claude-opus-4-8",
      messages: [says("Hi."), { role: "system", content: "Be brief." }],
    }),
  };
  test.each(Object.entries(good))("%s", (_, given) => {
    expect(validateAnthropic(given)).toEqual([]);
  });
});
