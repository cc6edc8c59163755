import { describe, expect, test } from "vitest";
import { renderOpenaiResponses } from "../../../src/rendering/openai-responses/body.js";
import { validateOpenaiResponses } from "../../../src/rendering/openai-responses/validator.js";
import type { RenderInput } from "../../../src/rendering/render-input.js";
import {
  assistant,
  call,
  context,
  fileAt,
  imageOf,
  opaque,
  result,
  system,
  text,
  thinking,
  tool,
  toolOf,
  user,
} from "../contexts.js";

interface ResponsesBody {
  readonly [key: string]: unknown;
  readonly input: readonly { readonly [key: string]: unknown }[];
}

function render(fields: Partial<RenderInput>): ResponsesBody {
  const body = renderOpenaiResponses(context({ model: "gpt-6-sol", ...fields }));
  expect(validateOpenaiResponses(body)).toEqual([]);
  return body as ResponsesBody;
}

const itemOf = (id: string) => ({
  id,
  type: "reasoning",
  summary: [],
  encrypted_content: `enc ${id}`,
  status: null,
});
const reasoning = (id: string) => opaque("openai", "reasoning", itemOf(id));

describe("renderOpenaiResponses", () => {
  test("gives reasoning back unchanged, in place, before the item that it led to", () => {
    const { input } = render({
      messages: [
        user(text("A flight?")),
        assistant(reasoning("rs_1"), text("I look."), reasoning("rs_2"), call("a", "search", {})),
        tool(result("a", "LH1166")),
      ],
    });
    expect(input.slice(1)).toEqual([
      itemOf("rs_1"),
      { role: "assistant", content: "I look." },
      itemOf("rs_2"),
      { type: "function_call", call_id: "a", name: "search", arguments: "{}" },
      { type: "function_call_output", call_id: "a", output: "LH1166" },
    ]);
  });

  test("drops reasoning that nothing follows in its message, or that led to something dropped", () => {
    const { input } = render({
      messages: [
        assistant(text("One."), reasoning("rs_1")),
        assistant(reasoning("rs_2"), text(" "), text("Two.")),
        assistant(reasoning("rs_3"), thinking("google", "Hm."), text("Three.")),
      ],
    });
    expect(input).toEqual([
      { role: "assistant", content: "One." },
      { role: "assistant", content: "Two." },
      itemOf("rs_3"),
      { role: "assistant", content: "Three." },
    ]);
  });

  test("drops reasoning that could not be read again: nothing is stored", () => {
    const bare = opaque("openai", "reasoning", { ...itemOf("rs_1"), encrypted_content: null });
    const { input } = render({
      messages: [assistant(bare, opaque("openai", "reasoning", "{"), text("Yes."))],
    });
    expect(input).toEqual([{ role: "assistant", content: "Yes." }]);
  });

  test("sends an item only once", () => {
    const { input } = render({
      messages: [assistant(reasoning("rs_1"), text("One.")), assistant(reasoning("rs_1"), text("Two."))],
    });
    expect(input).toHaveLength(3);
  });

  test("gives signed thinking back as reasoning to OpenAI only", () => {
    const { input } = render({
      messages: [
        assistant(thinking("openai", "Hm.", "sig"), thinking("anthropic", "Hm.", "sig"), text("Yes.")),
      ],
    });
    expect(input[0]).toEqual({
      type: "reasoning",
      summary: [{ type: "summary_text", text: "Hm." }],
      encrypted_content: "sig",
    });
    expect(input).toHaveLength(2);
  });

  test("gives back what OpenAI made besides words and calls, unchanged and in place", () => {
    const searched = { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search" } };
    const { input } = render({
      messages: [assistant(reasoning("rs_1"), opaque("openai", "web_search_call", searched), text("Found."))],
    });
    expect(input).toEqual([itemOf("rs_1"), searched, { role: "assistant", content: "Found." }]);
  });

  test("asks for encrypted reasoning with reasoning only", () => {
    const thoughtful = render({
      thinking: { enabled: true, budgetTokens: 0, effort: "low" },
      temperature: 1,
    });
    expect(thoughtful).toMatchObject({
      store: false,
      include: ["reasoning.encrypted_content"],
      reasoning: { effort: "low" },
    });
    expect(thoughtful).not.toHaveProperty("temperature");
    const plain = render({ temperature: 1 });
    expect(plain).toMatchObject({ store: false, temperature: 1 });
    expect(plain).not.toHaveProperty("include");
  });

  test("never asks for less output than OpenAI takes", () => {
    expect(render({ maxTokens: 3 }).max_output_tokens).toBe(16);
    expect(render({ maxTokens: 300 }).max_output_tokens).toBe(300);
    expect(render({})).not.toHaveProperty("max_output_tokens");
  });

  test("keeps several texts of an assistant message apart, and neighbours of the same role", () => {
    const { input } = render({
      messages: [user(text("A")), user(text("B")), assistant(text("C"), text("D"))],
    });
    expect(input).toEqual([
      { role: "user", content: "A" },
      { role: "user", content: "B" },
      {
        role: "assistant",
        content: [
          { type: "output_text", text: "C" },
          { type: "output_text", text: "D" },
        ],
      },
    ]);
  });

  test("moves the system prompt into the input where the cache should keep it", () => {
    const messages = [user(text("Hello.")), system(text("Be kind."))];
    expect(render({ system: "Be brief.", messages })).toMatchObject({ instructions: "Be brief." });
    const marked = render({
      system: "Be brief.",
      messages,
      breakpoints: [{ after: "system", ttlSeconds: 300 }],
    });
    expect(marked).not.toHaveProperty("instructions");
    expect(marked.input[0]).toEqual({
      role: "developer",
      content: [{ type: "input_text", text: "Be brief.", prompt_cache_breakpoint: { mode: "explicit" } }],
    });
    expect(marked.input[2]).toEqual({ role: "developer", content: "Be kind." });
  });

  test("sends the images of a result within it", () => {
    const { input } = render({
      messages: [assistant(call("a", "photo", {})), tool(result("a", "two", imageOf("hi", "image/png")))],
    });
    expect(input[1]).toEqual({
      type: "function_call_output",
      call_id: "a",
      output: [
        { type: "input_text", text: "two" },
        { type: "input_image", detail: "auto", image_url: "data:image/png;base64,aGk=" },
      ],
    });
  });

  test("refers to uploads by their ids and to files on the web by their addresses", () => {
    const { input } = render({
      messages: [
        user(
          fileAt("openai-file:file-1", "", "a.pdf"),
          fileAt("https://example.com/b.pdf", "application/pdf", "b.pdf"),
        ),
      ],
    });
    expect(input[0]!.content).toEqual([
      { type: "input_file", file_id: "file-1" },
      { type: "input_file", file_url: "https://example.com/b.pdf" },
    ]);
  });

  test("declares tools that are not strict, with schemas that OpenAI takes", () => {
    const odd = {
      type: "object",
      not: {},
      properties: { days: { type: "array" }, enum: { type: "array" } },
    };
    const { tools } = render({ tools: [toolOf("wallet/list", "Lists.", odd)] });
    expect(tools).toEqual([
      {
        type: "function",
        name: "wallet_list",
        description: "Lists.",
        parameters: {
          type: "object",
          properties: { days: { type: "array", items: {} }, enum: { type: "array", items: {} } },
        },
        strict: false,
      },
    ]);
  });

  test("sends something where there is nothing to send", () => {
    expect(render({ system: "Be brief." }).input).toEqual([{ role: "user", content: "[empty message]" }]);
  });
});
