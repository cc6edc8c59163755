import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { renderGemini } from "../../../src/rendering/gemini/body.js";
import { validateGemini } from "../../../src/rendering/gemini/validator.js";
import type { RenderInput } from "../../../src/rendering/render-input.js";
import {
  assistant,
  call,
  context,
  contexts,
  fileOf,
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
import { expectGoldenBody } from "../golden-body.js";
import { closedPrefixes, randomContexts, saidIn, stringsIn } from "../random-contexts.js";

type Json = { readonly [key: string]: unknown };

function render(fields: Partial<RenderInput>): Json & { readonly contents: readonly Json[] } {
  const body = renderGemini(context({ model: "gemini-3.8-flash", ...fields }));
  expect(validateGemini(body)).toEqual([]);
  return body as Json & { readonly contents: readonly Json[] };
}

describe("gemini: a body is as its golden file says, and valid", () => {
  test.each(Object.entries(contexts))("%s", (name, input) => {
    const body = renderGemini({ ...input, model: "gemini-3.8-flash" });
    expect(validateGemini(body)).toEqual([]);
    expectGoldenBody(`${name}.gemini`, body);
  });
});

describe("gemini: every body is valid", () => {
  const models = ["gemini-4-argon", "gemini-3.8-flash", "gemini-2.5-flash", "gemini-2.5-pro", "tuned"];

  test("of any context, for any model, and the same twice", () => {
    fc.assert(
      fc.property(randomContexts(...models), (input) => {
        const body = renderGemini(input);
        const written = JSON.stringify(body);
        expect(validateGemini(JSON.parse(written))).toEqual([]);
        expect(JSON.stringify(renderGemini(input))).toBe(written);
      }),
      { numRuns: 1_500, seed: 20_252 },
    );
  });

  test("and holds all that was said and every call", () => {
    fc.assert(
      fc.property(randomContexts(...models), (input) => {
        const { texts, calls } = saidIn(input);
        const parts = partsOf(renderGemini(input));
        const written = stringsIn(parts).join("\n");
        for (const said of texts) expect(written).toContain(said);
        expect(parts.filter(({ functionCall }) => functionCall)).toHaveLength(calls);
        expect(parts.filter(({ functionResponse }) => functionResponse)).toHaveLength(calls);
      }),
      { numRuns: 1_000, seed: 20_255 },
    );
  });

  test("and what is added to a conversation changes nothing before it", () => {
    fc.assert(
      fc.property(closedPrefixes(...models), ([input, end]) => {
        const before = partsOf(renderGemini({ ...input, messages: input.messages.slice(0, end) }));
        expect(partsOf(renderGemini(input)).slice(0, before.length)).toEqual(before);
      }),
      { numRuns: 1_000, seed: 20_256 },
    );
  });
});

function partsOf(body: Json): readonly Json[] {
  return (body.contents as readonly { readonly parts: readonly Json[] }[]).flatMap(({ parts }) => parts);
}

describe("gemini: signatures", () => {
  const ask = [user(text("Go."))];

  test("go back on the part that they came with; the first call of a step is never without one", () => {
    const { contents } = render({
      messages: [
        ...ask,
        assistant(call("a", "search", {}), call("b", "search", {})),
        tool(result("a", "1"), result("b", "2")),
        assistant(thinking("google", "", "ZW5k"), call("c", "search", {}, "c2ln")),
        tool(result("c", "3")),
      ],
    });
    expect(contents[1]?.parts).toEqual([
      {
        functionCall: { id: "a", name: "search", args: {} },
        thoughtSignature: "skip_thought_signature_validator",
      },
      { functionCall: { id: "b", name: "search", args: {} } },
    ]);
    expect(contents[3]?.parts).toEqual([
      { text: "", thoughtSignature: "ZW5k" },
      { functionCall: { id: "c", name: "search", args: {} }, thoughtSignature: "c2ln" },
    ]);
  });

  test("models that sign nothing get none made up", () => {
    const messages = [...ask, assistant(call("a", "search", {})), tool(result("a", "1"))];
    const { contents } = render({ messages, model: "gemini-2.5-pro" });
    expect(contents[1]?.parts).toEqual([{ functionCall: { id: "a", name: "search", args: {} } }]);
  });

  test("its own opaque parts go back as they are, those of others and broken ones do not", () => {
    const code = { executableCode: { language: "PYTHON", code: "1 + 1" }, thoughtSignature: "c2ln" };
    const messages = [
      ...ask,
      assistant(
        opaque("google", "part", code),
        opaque("openai", "reasoning", code),
        opaque("google", "part", "raw"),
        text("2"),
      ),
      user(text("Ok.")),
    ];
    expect(render({ messages }).contents[1]?.parts).toEqual([code, { text: "2" }]);
  });
});

describe("gemini: thinking", () => {
  const configOf = (model: string, budgetTokens: number, effort: string) => {
    const body = render({
      messages: [user(text("Hi."))],
      model,
      thinking: { enabled: true, budgetTokens, effort },
    });
    return (body.generationConfig as Json | undefined)?.thinkingConfig;
  };

  test("is a level where the model takes one and the context says it, otherwise a budget", () => {
    expect(configOf("gemini-3.8-flash", 4_000, "low")).toEqual({ thinkingLevel: "LOW" });
    expect(configOf("gemini-3.8-flash", 4_000, "")).toEqual({ thinkingBudget: 4_000 });
    expect(configOf("gemini-3.8-flash", 0, "")).toBeUndefined();
    expect(configOf("gemini-2.5-flash", 100_000, "low")).toEqual({ thinkingBudget: 24_576 });
    expect(configOf("gemini-2.5-pro", 0, "low")).toEqual({ thinkingBudget: -1 });
  });
});

describe("gemini: media", () => {
  test("what has a type that is taken goes inline or by address, the rest is named", () => {
    const { contents } = render({
      messages: [
        user(
          imageOf("x", "image/png"),
          imageAt("gs://bucket/a.jpg"),
          imageOf("x", "image/gif"),
          fileOf("{}", "application/json", "a.json"),
          fileOf("x", "application/x", "name.bin"),
        ),
      ],
    });
    expect(contents[0]?.parts).toEqual([
      { inlineData: { mimeType: "image/png", data: "eA==" } },
      { fileData: { mimeType: "image/jpeg", fileUri: "gs://bucket/a.jpg" } },
      { text: "[image, image/gif]" },
      { inlineData: { mimeType: "text/plain", data: "e30=" } },
      { text: "[file name.bin, application/x]" },
    ]);
  });

  test("in results stands within the response where the model can read it there, otherwise after all of them", () => {
    const messages = [
      user(text("Go.")),
      assistant(call("a", "shot", {}), call("b", "shot", {})),
      tool(result("a", "one", imageOf("x", "image/png")), result("b", "two", imageAt("gs://bucket/a.jpg"))),
    ];
    const picture = { inlineData: { mimeType: "image/png", data: "eA==" } };
    const stored = { fileData: { mimeType: "image/jpeg", fileUri: "gs://bucket/a.jpg" } };
    const one = { id: "a", name: "shot", response: { output: "one" } };
    const two = { id: "b", name: "shot", response: { output: "two" } };
    expect(render({ messages }).contents[2]?.parts).toEqual([
      { functionResponse: { ...one, parts: [picture] } },
      { functionResponse: two },
      stored,
    ]);
    expect(render({ messages, model: "gemini-2.5-pro" }).contents[2]?.parts).toEqual([
      { functionResponse: one },
      { functionResponse: two },
      picture,
      stored,
    ]);
  });
});

describe("gemini: what the API would refuse is put otherwise", () => {
  test("names that its pattern does not allow, the same in tools, calls and responses", () => {
    const tools = [toolOf("7/x", "", ""), toolOf("ok.name", "", "")];
    const messages = [user(text("Go.")), assistant(call("a", "7/x", {}, "c2ln")), tool(result("a", "1"))];
    const body = render({ tools, messages });
    const parametersJsonSchema = { type: "object", properties: {} };
    expect(body.tools).toEqual([
      {
        functionDeclarations: [
          { name: "tool_7_x", parametersJsonSchema },
          { name: "ok.name", parametersJsonSchema },
        ],
      },
    ]);
    expect(JSON.stringify(body.contents)).not.toContain("7/x");
  });

  test("a conversation with nothing in it, or that begins or ends with the model", () => {
    expect(render({}).contents).toEqual([{ role: "user", parts: [{ text: "[empty message]" }] }]);
    expect(render({ messages: [assistant(text("Hello."))] }).contents).toEqual([
      { role: "user", parts: [{ text: "[earlier messages are not shown]" }] },
      { role: "model", parts: [{ text: "Hello." }] },
      { role: "user", parts: [{ text: "[continue]" }] },
    ]);
  });
});
