import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, startProviders } from "./provider-engine.js";

let providers: readonly Served[];
beforeAll(async () => {
  providers = await startProviders();
});
afterAll(async () => {
  for (const { fake } of providers) await fake.close();
});

type Body = Readonly<Record<string, unknown>>;

const schema = { type: "object", properties: {} };
const claude = {
  model: "claude-sonnet-5-5",
  max_tokens: 100,
  tools: [{ name: "f", input_schema: schema }],
  messages: [{ role: "user", content: [{ type: "text", text: "Hi." }] }],
};
const use = { type: "tool_use", id: "a", name: "f", input: {} };
const gives = { type: "tool_result", tool_use_id: "a", content: "ok" };
const loop = (asked: readonly object[], answered: readonly object[]) => ({
  ...claude,
  messages: [...claude.messages, { role: "assistant", content: asked }, { role: "user", content: answered }],
});
const responses = {
  model: "gpt-6-sol",
  store: false,
  input: [{ role: "user", content: "Hi." }],
  tools: [{ type: "function", name: "f", parameters: schema, strict: false }],
};
const call = { type: "function_call", call_id: "a", name: "f", arguments: "{}" };
const chat = { model: "gpt-6-sol", messages: [{ role: "user", content: "Hi." }] };
const asks = (id: string) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "f", arguments: "{}" } }],
});
const gemini = { contents: [{ role: "user", parts: [{ text: "Hi." }] }] };
const calls = (...parts: readonly object[]) => ({
  contents: [
    ...gemini.contents,
    { role: "model", parts },
    { role: "user", parts: [{ functionResponse: { name: "f", response: {} } }] },
  ],
});
const called = { functionCall: { name: "f", args: {} } };

/** A body that each provider takes, and bodies that it refuses with a word of its message. */
const bodies: Readonly<
  Record<string, { readonly good: Body; readonly bad: Readonly<Record<string, Body>> }>
> = {
  anthropic: {
    good: loop([use], [gives]),
    bad: {
      "Extra inputs": { ...claude, effort: "low" },
      deprecated: { ...claude, temperature: 0.5 },
      "model:": { ...claude, model: "gpt-6-sol" },
      "must define tools": { ...loop([use], [gives]), tools: undefined },
      "without `tool_result`": loop([use], [{ type: "text", text: "So?" }]),
      "unexpected `tool_use_id`": loop([{ type: "text", text: "x" }], [gives]),
      "Invalid `signature`": loop([{ type: "thinking", thinking: "x", signature: "y" }, use], [gives]),
      "non-whitespace": loop([{ type: "text", text: " " }, use], [gives]),
      alternate: { ...claude, messages: [...claude.messages, ...claude.messages] },
    },
  },
  "openai-responses": {
    good: {
      ...responses,
      input: [...responses.input, call, { type: "function_call_output", call_id: "a", output: "ok" }],
    },
    bad: {
      "not supported": { ...responses, temperature: 1 },
      "does not exist": { ...responses, model: "claude-sonnet-5-5" },
      "No tool output": { ...responses, input: [...responses.input, call] },
      "No tool call": { ...responses, input: [{ type: "function_call_output", call_id: "a", output: "x" }] },
      "required following item": {
        ...responses,
        input: [{ type: "reasoning", id: "rs", summary: [], encrypted_content: "x" }, ...responses.input],
      },
      empty: { ...responses, input: [{ role: "user", content: "" }] },
    },
  },
  "openai-chat": {
    good: {
      ...chat,
      messages: [...chat.messages, asks("a"), { role: "tool", tool_call_id: "a", content: "ok" }],
    },
    bad: {
      max_completion_tokens: { ...chat, max_tokens: 5 },
      "string too long": { ...chat, messages: [...chat.messages, asks("a".repeat(41))] },
      "without a response": { ...chat, messages: [...chat.messages, asks("a")] },
      "must be a response": { ...chat, messages: [{ role: "tool", tool_call_id: "a", content: "x" }] },
      "expected a string": { ...chat, messages: [{ role: "user", content: null }] },
      "empty array": { ...chat, tools: [] },
    },
  },
  gemini: {
    good: calls({ ...called, thoughtSignature: "skip_thought_signature_validator" }),
    bad: {
      thought_signature: calls(called),
      Corrupted: calls({ ...called, thoughtSignature: "eA==" }),
      "equal to the number": {
        contents: [
          ...calls(called).contents.slice(0, 1),
          { role: "model", parts: [{ text: "x" }] },
          ...calls(called).contents.slice(2),
        ],
      },
      "ends with a user": { contents: [...gemini.contents, { role: "model", parts: [{ text: "x" }] }] },
      "initialized field": { contents: [{ role: "user", parts: [{ text: "" }] }] },
    },
  },
};

describe("the providers of these tests", () => {
  test.each(
    Object.keys(bodies),
  )("%s takes what it should, and refuses what its provider refuses", async (name) => {
    const { fake } = providers.find((served) => served.fake.name === name)!;
    const { good, bad } = bodies[name]!;
    const post = async (body: Body) => {
      const answer = await fetch(fake.url, { method: "POST", body: JSON.stringify(body) });
      return { ok: answer.ok, said: await answer.text() };
    };
    expect(await post(good)).toMatchObject({ ok: true });
    for (const [word, body] of Object.entries(bad)) {
      const { ok, said } = await post(body);
      expect([word, ok]).toEqual([word, false]);
      expect(said).toContain(word);
    }
  });
});
