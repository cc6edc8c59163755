import { describe, expect, test } from "vitest";
import { validateGemini } from "../../../src/rendering/gemini/validator.js";

type Fields = Readonly<Record<string, unknown>>;

const says = (...parts: readonly unknown[]) => ({ role: "user", parts });
const answers = (...parts: readonly unknown[]) => ({ role: "model", parts });
const hi = { text: "Hi." };
const calls = (name: string, fields: Fields = {}) => ({ functionCall: { name, args: {}, ...fields } });
const gives = (name: string, fields: Fields = {}) => ({
  functionResponse: { name, response: {}, ...fields },
});
const body = (fields: Fields): Fields => ({ contents: [says(hi)], ...fields });
const loop = (asked: readonly unknown[], answered: readonly unknown[], fields: Fields = {}) =>
  body({ contents: [says(hi), answers(...asked), says(...answered)], ...fields });
const part = (given: unknown) => body({ contents: [says(given)] });
const tools = (...declarations: readonly unknown[]) =>
  body({ tools: [{ functionDeclarations: declarations }] });
const config = (generationConfig: unknown) => body({ generationConfig });
const calling = (functionCallingConfig: Fields) => ({
  ...tools({ name: "a" }),
  toolConfig: { functionCallingConfig },
});

/** The rule that is broken, where, the body, and a word of the message. */
const bad: readonly (readonly [rule: string, path: string, body: unknown, word: string])[] = [
  ["body_not_object", "", "{}", "object"],
  ["unknown_field", "messages", body({ messages: [] }), "messages"],
  ["contents_empty", "contents", body({ contents: [] }), "contents"],
  ["role_unknown", "contents[0].role", body({ contents: [{ role: "assistant", parts: [hi] }] }), "model"],
  ["parts_empty", "contents[0].parts", body({ contents: [says()] }), "at least one part"],
  ["first_content_not_user", "contents[0]", body({ contents: [answers(hi), says(hi)] }), "begins"],
  ["ends_with_model", "contents[1]", body({ contents: [says(hi), answers(hi)] }), "ends"],
  ["roles_do_not_alternate", "contents[1]", body({ contents: [says(hi), says(hi)] }), "turns"],
  ["part_invalid", "contents[0].parts[0]", part("Hi."), "object"],
  ["part_empty", "contents[0].parts[0]", part({}), "text"],
  [
    "part_ambiguous",
    "contents[0].parts[0]",
    part({ ...hi, fileData: { fileUri: "gs://a", mimeType: "image/png" } }),
    "one kind",
  ],
  ["unknown_field", "contents[0].parts[0].type", part({ type: "text", ...hi }), "type"],
  ["empty_text", "contents[0].parts[0]", part({ text: "" }), "empty"],
  [
    "mime_type_invalid",
    "contents[0].parts[0].inlineData",
    part({ inlineData: { data: "YQ==" } }),
    "mimeType",
  ],
  [
    "base64_invalid",
    "contents[0].parts[0].inlineData.data",
    part({ inlineData: { mimeType: "image/png", data: "?" } }),
    "base64",
  ],
  [
    "file_uri_missing",
    "contents[0].parts[0].fileData",
    part({ fileData: { mimeType: "image/png" } }),
    "fileUri",
  ],
  [
    "mime_type_invalid",
    "contents[0].parts[0].fileData",
    part({ fileData: { fileUri: "gs://a" } }),
    "mimeType",
  ],
  ["part_not_allowed", "contents[0].parts[0]", part(calls("a")), "functionCall"],
  ["thought_signature_invalid", "contents[0].parts[0]", part({ ...hi, thoughtSignature: "?" }), "base64"],
  [
    "function_name_invalid",
    "contents[1].parts[0].functionCall.name",
    loop([calls("a/b")], [gives("a/b")]),
    "begin with",
  ],
  [
    "function_args_not_object",
    "contents[1].parts[0].functionCall.args",
    loop([calls("a", { args: "{}" })], [gives("a")]),
    "object",
  ],
  [
    "function_response_not_object",
    "contents[2].parts[0].functionResponse.response",
    loop([calls("a")], [gives("a", { response: "ok" })]),
    "object",
  ],
  [
    "function_response_missing",
    "contents[1]",
    loop([calls("a"), calls("b")], [gives("a")]),
    "2 function calls",
  ],
  ["function_response_missing", "contents[1]", loop([calls("a")], [hi]), "0 responses"],
  ["function_response_unexpected", "contents[0]", part(gives("a")), "directly after"],
  ["function_response_too_many", "contents[2]", loop([calls("a")], [gives("a"), gives("a")]), "answer 1"],
  ["function_response_name", "contents[2]", loop([calls("a")], [gives("b")]), "call of b"],
  [
    "function_response_name",
    "contents[2]",
    loop([calls("a", { id: "1" })], [gives("a", { id: "2" })]),
    "call of a",
  ],
  [
    "thought_signature_missing",
    "contents[1]",
    loop([calls("a")], [gives("a")], { generationConfig: { thinkingConfig: { thinkingLevel: "LOW" } } }),
    "thought_signature",
  ],
  ["system_instruction_invalid", "systemInstruction", body({ systemInstruction: "Be brief." }), "parts"],
  [
    "system_instruction_invalid",
    "systemInstruction.parts[0]",
    body({ systemInstruction: { parts: [{ inlineData: {} }] } }),
    "text",
  ],
  ["tools_not_list", "tools", body({ tools: {} }), "list"],
  ["tool_invalid", "tools[0].functionDeclarations", tools(), "at least one"],
  ["tool_name_invalid", "tools[0].functionDeclarations[0].name", tools({ name: "a b" }), "letter"],
  [
    "tool_name_duplicate",
    "tools[0].functionDeclarations[1].name",
    tools({ name: "a" }, { name: "a" }),
    "duplicate",
  ],
  [
    "tool_schema_twice",
    "tools[0].functionDeclarations[0]",
    tools({ name: "a", parameters: { type: "OBJECT" }, parametersJsonSchema: { type: "object" } }),
    "exclude",
  ],
  [
    "tool_schema_not_object",
    "tools[0].functionDeclarations[0]",
    tools({ name: "a", parametersJsonSchema: { type: "string" } }),
    "object",
  ],
  ["tool_mode_unknown", "toolConfig.functionCallingConfig.mode", calling({ mode: "SOME" }), "ANY"],
  [
    "allowed_names_mode",
    "toolConfig.functionCallingConfig",
    calling({ mode: "AUTO", allowedFunctionNames: ["a"] }),
    "ANY",
  ],
  [
    "allowed_name_unknown",
    "toolConfig.functionCallingConfig.allowedFunctionNames",
    calling({ mode: "ANY", allowedFunctionNames: ["b"] }),
    "declarations",
  ],
  ["generation_config_invalid", "generationConfig", config([]), "object"],
  ["temperature_range", "generationConfig.temperature", config({ temperature: 2.5 }), "0 to 2"],
  ["max_output_tokens_invalid", "generationConfig.maxOutputTokens", config({ maxOutputTokens: 0 }), "from 1"],
  [
    "thinking_level_and_budget",
    "generationConfig.thinkingConfig",
    config({ thinkingConfig: { thinkingLevel: "LOW", thinkingBudget: 1 } }),
    "together",
  ],
  [
    "thinking_level_unknown",
    "generationConfig.thinkingConfig.thinkingLevel",
    config({ thinkingConfig: { thinkingLevel: "MAX" } }),
    "HIGH",
  ],
  [
    "thinking_budget_invalid",
    "generationConfig.thinkingConfig.thinkingBudget",
    config({ thinkingConfig: { thinkingBudget: -2 } }),
    "-1",
  ],
];

describe("gemini: a bad body is refused with its rule, its place and a message", () => {
  test.each(bad)("%s at %s", (rule, path, given, word) => {
    const found = validateGemini(given);
    expect(found.map((problem) => [problem.rule, problem.path])).toContainEqual([rule, path]);
    expect(new Set(found.map((problem) => problem.rule)).size).toBe(1);
    expect(found[0]?.message).toContain(word);
  });
});

describe("gemini: what the API takes is not refused", () => {
  const good: Readonly<Record<string, unknown>> = {
    "a content without a role": { contents: [{ parts: [hi] }] },
    "the other spelling of fields": {
      contents: [says({ inline_data: { mime_type: "image/png", data: "YQ==" } })],
      system_instruction: { parts: [hi] },
      generation_config: { max_output_tokens: 10 },
    },
    "an empty text that carries a signature": {
      contents: [says(hi), answers({ text: "", thoughtSignature: "c2ln" }, hi), says(hi)],
    },
    "responses without ids, in another order": loop([calls("a"), calls("b")], [gives("b"), gives("a"), hi]),
    "the provider's own tools": body({ tools: [{ googleSearch: {} }] }),
  };
  test.each(Object.entries(good))("%s", (_, given) => {
    expect(validateGemini(given)).toEqual([]);
  });
});
