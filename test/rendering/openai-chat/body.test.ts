import { describe, expect, test } from "vitest";
import { shortCallId } from "../../../src/rendering/openai/call-id.js";
import { renderOpenaiChat } from "../../../src/rendering/openai-chat/body.js";
import { validateOpenaiChat } from "../../../src/rendering/openai-chat/validator.js";
import type { RenderInput } from "../../../src/rendering/render-input.js";
import {
  assistant,
  call,
  context,
  failure,
  fileAt,
  imageAt,
  imageOf,
  opaque,
  result,
  text,
  thinking,
  tool,
  toolOf,
  user,
} from "../contexts.js";

interface ChatBody {
  readonly [key: string]: unknown;
  readonly messages: readonly { readonly [key: string]: unknown }[];
}

function render(fields: Partial<RenderInput>): ChatBody {
  const body = renderOpenaiChat(context({ model: "gpt-6-sol", ...fields }));
  expect(validateOpenaiChat(body)).toEqual([]);
  return body as ChatBody;
}

describe("renderOpenaiChat", () => {
  test("puts the results of calls directly after the message that made them, in the order of the calls", () => {
    const { messages } = render({
      messages: [
        assistant(call("a", "search", {}), call("b", "search", {})),
        user(text("Quick!")),
        tool(result("b", "second"), result("a", "first")),
      ],
    });
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ["assistant", null],
      ["tool", "first"],
      ["tool", "second"],
      ["user", "Quick!"],
    ]);
  });

  test("shows the images of a result in a user message that names the call", () => {
    const { messages } = render({
      messages: [
        assistant(call("a", "photo", {}), call("b", "photo", {})),
        tool(result("a", imageAt("https://example.com/a.png")), result("b", "none")),
      ],
    });
    expect(messages.slice(1)).toEqual([
      { role: "tool", tool_call_id: "a", content: "[no output]" },
      { role: "tool", tool_call_id: "b", content: "none" },
      {
        role: "user",
        content: [
          { type: "text", text: "[image from the result of photo, call a]" },
          { type: "image_url", image_url: { url: "https://example.com/a.png" } },
        ],
      },
    ]);
  });

  test("drops reasoning, its own and that of others", () => {
    const reasoning = opaque("openai", "reasoning", {
      type: "reasoning",
      id: "rs_1",
      summary: [],
      encrypted_content: "x",
    });
    const { messages } = render({
      messages: [assistant(thinking("anthropic", "Hm."), thinking("openai", "Hm."), reasoning, text("Yes."))],
    });
    expect(messages).toEqual([{ role: "assistant", content: "Yes." }]);
  });

  test("gives back its own opaque content where the message takes it, and drops that of others", () => {
    const refusal = { type: "refusal", refusal: "No." };
    const audio = { type: "input_audio", input_audio: { data: "aGk=", format: "wav" } };
    const { messages } = render({
      messages: [
        assistant(opaque("openai", "refusal", refusal), opaque("anthropic", "refusal", refusal)),
        user(opaque("openai", "input_audio", audio), opaque("openai", "refusal", refusal), text("Listen.")),
      ],
    });
    expect(messages).toEqual([
      { role: "assistant", content: [refusal] },
      { role: "user", content: [audio, { type: "text", text: "Listen." }] },
    ]);
  });

  test("says that a tool failed, for there is no mark for it", () => {
    const { messages } = render({
      messages: [assistant(call("a", "pay", {})), tool(failure("a", "no money"))],
    });
    expect(messages[1]!.content).toBe("[the tool failed] no money");
  });

  test("splits more calls than a message can hold, each part with its results", () => {
    const ids = Array.from({ length: 130 }, (_, at) => `call_${at}`);
    const { messages } = render({
      messages: [
        assistant(text("All of them."), ...ids.map((id) => call(id, "search", {}))),
        tool(...ids.map((id) => result(id, id))),
      ],
    });
    expect(messages.map(({ role }) => role).indexOf("assistant", 1)).toBe(129);
    expect(messages[129]).toMatchObject({
      content: null,
      tool_calls: [{ id: "call_128" }, { id: "call_129" }],
    });
  });

  test("makes long and repeated call ids short and different, the same for a call and its result", () => {
    const long = "x".repeat(80);
    const { messages } = render({
      messages: [
        assistant(call(`${long}1`, "search", {}), call(`${long}2`, "search", {})),
        tool(result(`${long}1`, "one"), result(`${long}2`, "two")),
      ],
    });
    const ids = messages.slice(1).map(({ tool_call_id: id }) => id as string);
    expect(new Set(ids).size).toBe(2);
    expect(ids).toEqual([shortCallId(`${long}1`, 40), shortCallId(`${long}2`, 40)]);
    for (const id of ids) expect(id).toMatch(/^call_[\w-]{35}$/);
    expect(shortCallId("x".repeat(40), 40)).toBe("x".repeat(40));
  });

  test("sends a temperature only without reasoning, and a limit only where there is one", () => {
    const calm = render({ temperature: 0.2, maxTokens: 0 });
    expect(calm).toMatchObject({ temperature: 0.2 });
    expect(calm).not.toHaveProperty("max_completion_tokens");
    const thinks = { enabled: true, budgetTokens: 0, effort: "high" };
    const thoughtful = render({ temperature: 0.2, maxTokens: 500, thinking: thinks });
    expect(thoughtful).toMatchObject({ reasoning_effort: "high", max_completion_tokens: 500 });
    expect(thoughtful).not.toHaveProperty("temperature");
  });

  test.each([
    ["xhigh", 0, "xhigh"],
    ["", 0, "medium"],
    ["", 1_024, "low"],
    ["a lot", 8_000, "medium"],
    ["", 60_000, "high"],
  ])("thinks with effort %j and budget %i as %s", (effort, budgetTokens, expected) => {
    const { reasoning_effort: sent } = render({ thinking: { enabled: true, budgetTokens, effort } });
    expect(sent).toBe(expected);
  });

  test("keeps a cache key that fits, and hashes a longer one", () => {
    expect(render({ cacheKey: "session-1" }).prompt_cache_key).toBe("session-1");
    expect(render({ cacheKey: "k".repeat(65) }).prompt_cache_key).toMatch(/^[0-9a-f]{64}$/);
    expect(render({})).not.toHaveProperty("prompt_cache_key");
  });

  test("moves a cache mark on an assistant's words to the input before them", () => {
    const { messages, prompt_cache_options: options } = render({
      messages: [user(text("Hello.")), assistant(text("Yes?")), user(text("Bye."))],
      breakpoints: [{ after: "message", messageIndex: 1, ttlSeconds: 300 }],
    });
    const marked = [{ type: "text", text: "Hello.", prompt_cache_breakpoint: { mode: "explicit" } }];
    expect(messages[0]!.content).toEqual(marked);
    expect(options).toEqual({ mode: "explicit" });
  });

  test("leaves caching to OpenAI where no mark could be placed", () => {
    const body = render({
      messages: [assistant(text("Yes?"))],
      breakpoints: [{ after: "tools", ttlSeconds: 300 }],
    });
    expect(body).not.toHaveProperty("prompt_cache_options");
  });

  test("declares at most 128 tools, the first ones", () => {
    const tools = Array.from({ length: 130 }, (_, at) => toolOf(`tool_${at}`, "", "{}"));
    expect(render({ tools }).tools).toHaveLength(128);
  });

  test("names in words what it cannot show", () => {
    const { messages } = render({
      messages: [user(imageOf("x", "image/tiff"), fileAt("s3://bucket/a.bin", "application/zip", "a.zip"))],
    });
    expect(messages[0]!.content).toEqual([
      { type: "text", text: "[image, image/tiff]" },
      { type: "text", text: "[file a.zip, application/zip]" },
    ]);
  });

  test("sends something where there is nothing to send", () => {
    expect(render({}).messages).toEqual([{ role: "user", content: "[empty message]" }]);
    expect(render({ system: "Be brief." }).messages).toHaveLength(2);
  });
});
