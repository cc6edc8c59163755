import type { MessageCreateParamsNonStreaming } from "@anthropic-ai/sdk/resources/messages";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { renderAnthropic } from "../../../src/rendering/anthropic/body.js";
import { validateAnthropic } from "../../../src/rendering/anthropic/validator.js";
import type { RenderedBody, RenderInput } from "../../../src/rendering/render-input.js";
import {
  assistant,
  call,
  context,
  contexts,
  fileOf,
  imageOf,
  opaque,
  result,
  searchFlights,
  text,
  thinking,
  tool,
  toolOf,
  user,
} from "../contexts.js";
import { expectGoldenBody } from "../golden-body.js";
import { closedPrefixes, randomContexts, saidIn, stringsIn } from "../random-contexts.js";

function render(fields: Partial<RenderInput>): MessageCreateParamsNonStreaming {
  const body = renderAnthropic(context({ model: "claude-sonnet-4-5", ...fields }));
  expect(validateAnthropic(body)).toEqual([]);
  return body as unknown as MessageCreateParamsNonStreaming;
}

describe("anthropic: a body is as its golden file says, and valid", () => {
  test.each(Object.entries(contexts))("%s", (name, input) => {
    const body = renderAnthropic({ ...input, model: "claude-sonnet-4-5" });
    expect(validateAnthropic(body)).toEqual([]);
    expectGoldenBody(`${name}.anthropic`, body);
  });
});

describe("anthropic: every body is valid", () => {
  const models = [
    "claude-sonnet-4-5",
    "claude-3-7-sonnet-20250219",
    "claude-opus-4-6",
    "us.anthropic.claude-opus-4-7-v1",
    "claude-opus-5-5",
    "claude-next",
    "other-model",
  ];
  test("of any context, for any model, and the same twice", () => {
    fc.assert(
      fc.property(randomContexts(...models), (input) => {
        const body = renderAnthropic(input);
        const written = JSON.stringify(body);
        expect(validateAnthropic(JSON.parse(written))).toEqual([]);
        expect(JSON.stringify(renderAnthropic(input))).toBe(written);
      }),
      { numRuns: 1_500, seed: 20_251 },
    );
  });

  test("and holds all that was said and every call", () => {
    fc.assert(
      fc.property(randomContexts(...models), (input) => {
        const { texts, calls } = saidIn(input);
        const blocks = blocksOf(renderAnthropic(input));
        const written = stringsIn(blocks).join("\n");
        for (const said of texts) expect(written).toContain(said);
        expect(blocks.filter(({ type }) => type === "tool_use")).toHaveLength(calls);
        expect(blocks.filter(({ type }) => type === "tool_result")).toHaveLength(calls);
      }),
      { numRuns: 1_000, seed: 20_253 },
    );
  });

  test("and what is added to a conversation changes nothing before it", () => {
    fc.assert(
      fc.property(closedPrefixes(...models), ([input, end]) => {
        const before = blocksOf(renderAnthropic({ ...input, messages: input.messages.slice(0, end) }));
        expect(blocksOf(renderAnthropic(input)).slice(0, before.length)).toEqual(before);
      }),
      { numRuns: 1_000, seed: 20_254 },
    );
  });
});

function blocksOf(body: RenderedBody): readonly { readonly [key: string]: unknown }[] {
  return (body as unknown as MessageCreateParamsNonStreaming).messages.flatMap(({ content }) => {
    return content as unknown as { readonly [key: string]: unknown }[];
  });
}

describe("anthropic: thinking", () => {
  const on = { enabled: true, budgetTokens: 4_000, effort: "medium" };
  const messages = [user(text("Hi."))];

  test("models that take a budget get it below max_tokens, others an effort", () => {
    expect(render({ messages, thinking: on, maxTokens: 8_000 }).thinking).toEqual({
      type: "enabled",
      budget_tokens: 4_000,
    });
    expect(render({ messages, thinking: on, maxTokens: 2_000 }).thinking).toEqual({
      type: "enabled",
      budget_tokens: 1_600,
    });
    expect(render({ messages, thinking: on, maxTokens: 1_024 }).thinking).toBeUndefined();
    const body = render({ messages, thinking: on, model: "claude-opus-5-5", temperature: 0.5 });
    expect(body.thinking).toEqual({ type: "adaptive" });
    expect(body.output_config).toEqual({ effort: "medium" });
  });

  test("temperature is left out where the model thinks, or takes none", () => {
    expect(render({ messages, temperature: 0.5 })).toHaveProperty("temperature", 0.5);
    expect(render({ messages, temperature: 1.5 })).toHaveProperty("temperature", 1);
    expect(render({ messages, temperature: 0.5, thinking: on })).not.toHaveProperty("temperature");
    expect(render({ messages, temperature: 0.5, model: "claude-opus-4-7" })).not.toHaveProperty(
      "temperature",
    );
  });

  test("a turn that another provider began goes on without a thinking budget", () => {
    const loop = [...messages, assistant(call("c", "search_flights", {})), tool(result("c", "none"))];
    expect(render({ messages: loop, thinking: on })).not.toHaveProperty("thinking");
    expect(render({ messages: loop, thinking: on, model: "claude-opus-5-5" })).toHaveProperty("thinking");
    const own = [
      ...messages,
      assistant(thinking("anthropic", "Hm."), call("c", "search_flights", {})),
      tool(result("c", "none")),
    ];
    expect(render({ messages: own, thinking: on })).toHaveProperty("thinking");
  });

  test("blocks of the provider's own tools go back in pairs only", () => {
    const use = { type: "server_tool_use", id: "srv_1", name: "web_search", input: {} };
    const found = { type: "web_search_tool_result", tool_use_id: "srv_1", content: [] };
    const say = (...blocks: readonly object[]) => {
      const opaques = blocks.map((block) => opaque("anthropic", "server", block));
      return render({ messages: [...messages, assistant(...opaques, text("Found.")), user(text("Ok."))] });
    };
    expect(say(use, found).messages[1]?.content).toEqual([use, found, { type: "text", text: "Found." }]);
    expect(say(use).messages[1]?.content).toEqual([{ type: "text", text: "Found." }]);
    expect(say(found).messages[1]?.content).toEqual([{ type: "text", text: "Found." }]);
  });
});

describe("anthropic: markers", () => {
  const messages = [
    user(text("One.")),
    assistant(text("Two.")),
    user(text("Three.")),
    assistant(text("Four.")),
  ];
  const markersOf = (fields: Partial<RenderInput>) => {
    const found: unknown[] = [];
    JSON.stringify(
      render({ messages, tools: [searchFlights], system: "Be brief.", ...fields }),
      (key, value) => {
        if (key === "cache_control") found.push(value);
        return value;
      },
    );
    return found;
  };
  const at = (messageIndex: number, ttlSeconds = 300) => ({
    after: "message" as const,
    messageIndex,
    ttlSeconds,
  });

  test("are at most four: those of tools and system, and the last ones", () => {
    const body = render({
      messages,
      tools: [searchFlights],
      system: "Be brief.",
      breakpoints: [
        at(0),
        at(1),
        at(2),
        at(3),
        { after: "tools", ttlSeconds: 300 },
        { after: "system", ttlSeconds: 300 },
      ],
    });
    const marked = body.messages.map(({ content }) => JSON.stringify(content).includes("cache_control"));
    expect(marked).toEqual([false, false, true, true, false]);
    expect(body.tools?.[0]).toHaveProperty("cache_control");
    expect(body.system).toEqual([{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }]);
  });

  test("last no longer than the one before", () => {
    const breakpoints = [{ after: "tools" as const, ttlSeconds: 3_600 }, at(0, 300), at(2, 3_600)];
    expect(markersOf({ breakpoints })).toEqual([
      { type: "ephemeral", ttl: "1h" },
      { type: "ephemeral" },
      { type: "ephemeral" },
    ]);
  });

  test("stand on the result that holds what was told, for its message and for the one before", () => {
    const told = { ...user(text("")), parts: [], contextParts: [text("told")] };
    const messages = [
      user(text("Go.")),
      assistant(call("c", "search", {})),
      tool(result("c", "found")),
      told,
    ];
    for (const index of [2, 3]) {
      const [block] = render({ messages, tools: [searchFlights], breakpoints: [at(index)] }).messages.at(-1)!
        .content as { type: string; content: object[]; cache_control?: object }[];
      expect(block).toMatchObject({ type: "tool_result", cache_control: { type: "ephemeral" } });
      expect(block!.content).toHaveLength(2);
    }
  });

  test("stand on the last block before the breakpoint that can carry one", () => {
    const said = [
      user(text("One.")),
      assistant(text("Two."), thinking("anthropic", "And"), thinking("anthropic", "then")),
      assistant(thinking("anthropic", "Hm."), call("c", "search_flights", {})),
      tool(result("c", "none")),
    ];
    const content = render({ messages: said, breakpoints: [at(1)] }).messages[1]?.content;
    expect(content?.[0]).toHaveProperty("cache_control");
  });

  test("a breakpoint after nothing is none", () => {
    const breakpoints = [
      { after: "tools" as const, ttlSeconds: 300 },
      { after: "system" as const, ttlSeconds: 300 },
    ];
    expect(markersOf({ breakpoints, tools: [], system: "" })).toEqual([]);
  });
});

describe("anthropic: what the API would refuse is put otherwise", () => {
  test("names and ids that its patterns do not allow, the same in tools and history", () => {
    const tools = [toolOf("a/b", "", ""), toolOf("a_b", "", ""), toolOf("a_b", "again", "")];
    const messages = [
      user(text("Go.")),
      assistant(call("x:1", "a/b", {}), call("x_1", "a_b", {}), call("x:1", "gone", {})),
      tool(result("x:1", "first"), result("x_1", "second"), result("x:1", "third")),
    ];
    const body = render({ tools, messages });
    expect(body.tools?.map((entry) => "name" in entry && entry.name)).toEqual(["a_b_2", "a_b"]);
    expect(body.messages[1]?.content).toEqual([
      { type: "tool_use", id: "x_1", name: "a_b_2", input: {} },
      { type: "tool_use", id: "x_1_2", name: "a_b", input: {} },
      { type: "tool_use", id: "x_1_3", name: "gone", input: {} },
    ]);
    expect(body.messages[2]?.content).toEqual([
      { type: "tool_result", tool_use_id: "x_1", content: "first" },
      { type: "tool_result", tool_use_id: "x_1_2", content: "second" },
      { type: "tool_result", tool_use_id: "x_1_3", content: "third" },
    ]);
  });

  test("schemas with choices at the top become one schema", () => {
    const schema = {
      anyOf: [
        { properties: { id: { type: "string" }, "no good": {} }, required: ["id", "no good"] },
        { properties: { id: { type: "string" }, name: { type: "string" } }, required: ["id", "name"] },
      ],
      description: "Either.",
    };
    const body = render({ tools: [toolOf("find", "", schema)], messages: [user(text("Go."))] });
    expect(body.tools?.[0]).toEqual({
      name: "find",
      input_schema: {
        type: "object",
        properties: { id: { type: "string" }, name: { type: "string" } },
        required: ["id"],
        description: "Either.",
      },
    });
  });

  test("a file of a type that is not taken is named; one of text is a document", () => {
    const parts = [
      fileOf("x", "application/x", "name.bin"),
      fileOf('{"a":1}', "application/json", ""),
      imageOf("", "image/png"),
    ];
    expect(render({ messages: [user(...parts)] }).messages[0]?.content).toEqual([
      { type: "text", text: "[file name.bin, application/x]" },
      { type: "document", source: { type: "text", media_type: "text/plain", data: '{"a":1}' } },
      { type: "text", text: "[image, image/png]" },
    ]);
  });

  test("a conversation with nothing in it, or that begins or ends with the assistant", () => {
    expect(render({}).messages).toEqual([
      { role: "user", content: [{ type: "text", text: "[empty message]" }] },
    ]);
    expect(render({ messages: [assistant(text("Hello."))] }).messages).toEqual([
      { role: "user", content: [{ type: "text", text: "[earlier messages are not shown]" }] },
      { role: "assistant", content: [{ type: "text", text: "Hello." }] },
      { role: "user", content: [{ type: "text", text: "[continue]" }] },
    ]);
  });

  test("max_tokens is always there: what is asked, or all that the model can", () => {
    const messages = [user(text("Hi."))];
    expect(render({ messages, maxTokens: 100 }).max_tokens).toBe(100);
    expect(render({ messages }).max_tokens).toBe(64_000);
    expect(render({ messages, outputTokens: 0 }).max_tokens).toBe(4_096);
  });
});
