import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../../../src/config/package-root.js";
import { encodeBody } from "../../../src/rendering/render.js";
import { type BodyFormat, bodyFormats } from "../../../src/rendering/render-input.js";
import { readResponse } from "../../../src/rendering/response.js";
import { anthropicResponses } from "./anthropic.js";
import { geminiBlocked, geminiResponses } from "./gemini.js";
import { chatResponses, openaiResponses } from "./openai.js";
import { bodyAfter, problemOf, read } from "./read.js";

const isUpdate = process.env.UPDATE_GOLDEN === "1";

const responses: Readonly<Record<BodyFormat, Readonly<Record<string, unknown>>>> = {
  anthropic: anthropicResponses,
  "openai-responses": openaiResponses,
  "openai-chat": chatResponses,
  gemini: { ...geminiResponses, blocked: geminiBlocked },
};
const cases = bodyFormats.flatMap((format) =>
  Object.entries(responses[format]).map(([name, body]) => [format, name, body] as const),
);

/** Bytes as text, so that a golden file can be read. */
function shown(value: unknown): string {
  const replace = (_: string, field: unknown) => {
    const isBytes = (field as { type?: unknown } | null)?.type === "Buffer";
    return isBytes ? Buffer.from((field as { data: number[] }).data).toString() : field;
  };
  return `${JSON.stringify(value, replace, 2)}\n`;
}

describe("a response is read", () => {
  test.each(cases)("%s: %s, as its golden file says", (format, name, body) => {
    const file = join(packageRoot, "test", "golden", "responses", `${name}.${format}.json`);
    const found = shown(read(format, body));
    if (isUpdate) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, found);
    }
    expect(found, file).toBe(readFileSync(file, "utf8"));
  });

  test.each(
    bodyFormats,
  )("%s counts tokens as the contract does: cached ones are part of the input", (format) => {
    const cacheWriteTokens = { anthropic: 200, gemini: 0, "openai-chat": 100, "openai-responses": 100 }[
      format
    ];
    const cachedInputTokens = format === "anthropic" ? 1_000 : 1_024;
    const usage = {
      inputTokens: 1_212,
      outputTokens: 40,
      cachedInputTokens,
      cacheWriteTokens,
      reasoningTokens: 8,
    };
    expect(read(format, responses[format].text).usage).toEqual(usage);
  });

  test("numbers and keys of arguments and opaque items go back digit for digit", () => {
    const input = '{"2":1.0, "1":12345678901234567890, "x":1e400}';
    const item = `{"type":"server_tool_use","id":"s1","name":"web_search","input":{"n": 1.50}}`;
    const body = `{"content":[${item},{"type":"web_search_tool_result","tool_use_id":"s1","content":[]},
      {"type":"tool_use","id":"t1","name":"search","input":${input}}],"stop_reason":"tool_use"}`;
    const sent = encodeBody(bodyAfter("anthropic", read("anthropic", body).parts)).toString();
    expect(sent).toContain(input);
    expect(sent).toContain(item);
    expect(JSON.parse(sent).messages).toHaveLength(3);
  });

  test("the chunks of a stream are one answer", () => {
    const chunk = (...parts: readonly object[]) => ({ candidates: [{ index: 0, content: { parts } }] });
    const found = read("gemini", [
      chunk({ text: "Let me ", thought: true }),
      chunk({ text: "see.", thought: true }),
      chunk({ text: "It is " }),
      { ...chunk({ text: "sunny." }), usageMetadata: { promptTokenCount: 5 } },
      chunk({ functionCall: { name: "search", args: {} }, thoughtSignature: "c2ln" }),
      { candidates: [{ index: 0, finishReason: "STOP" }], usageMetadata: { promptTokenCount: 7 } },
    ]);
    expect(found.parts.map(({ content }) => content)).toMatchObject([
      { $case: "thinking", value: { text: "Let me see." } },
      { $case: "text", value: { text: "It is sunny." } },
      { $case: "toolCall", value: { callId: "", name: "search", signature: "c2ln" } },
    ]);
    expect(found).toMatchObject({ stopReason: "STOP", usage: { inputTokens: 7 } });
  });

  test("one of several answers is read, and the others are counted", () => {
    for (const format of ["openai-chat", "gemini"] as const) {
      const found = read(format, responses[format]["several-candidates"], 1);
      expect(found.parts.map(({ content }) => content)).toEqual([
        { $case: "text", value: { text: "Tails." } },
      ]);
      expect(found.others).toBe(1);
      expect(problemOf(format, responses[format]["several-candidates"], 2)).toContain("no entry 2");
    }
    expect(problemOf("anthropic", anthropicResponses.text, 1)).toContain("candidate must be 0");
  });

  test("names in the spelling of Python's SDK are read as well", () => {
    const body = {
      candidates: [
        {
          finish_reason: "STOP",
          content: { parts: [{ function_call: { name: "f", args: { a: 1 } }, thought_signature: "c2ln" }] },
        },
      ],
      usage_metadata: { prompt_token_count: 3, candidates_token_count: 2 },
    };
    const found = read("gemini", body);
    expect(found.parts[0]?.content).toMatchObject({
      value: { name: "f", argumentsJson: '{"a":1}', signature: "c2ln" },
    });
    expect(found).toMatchObject({ stopReason: "STOP", usage: { inputTokens: 3, outputTokens: 2 } });
  });
});

const media = Buffer.alloc(1_048_577).toString("base64");
const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

/** What cannot be read, and the place and a word of what is said about it. */
const bad: readonly (readonly [BodyFormat, unknown, string, string])[] = [
  ["anthropic", "", "", "valid JSON"],
  ["anthropic", "<html>502 Bad Gateway</html>", "", "valid JSON"],
  ["anthropic", "[]", "", "must be an object"],
  ["anthropic", "null", "", "must be an object"],
  ["anthropic", {}, "content", "is missing"],
  ["anthropic", { type: "error", error: { type: "overloaded_error" } }, "error", "not an answer"],
  ["anthropic", { content: "text" }, "content", "must be a list"],
  ["anthropic", { content: [{}] }, "content[0].type", "is missing"],
  ["anthropic", { content: [{ type: "text" }] }, "content[0].text", "is missing"],
  ["anthropic", { content: [{ type: "text", text: 1 }] }, "content[0].text", "must be a string"],
  ["anthropic", '{"content":[{"type":"text","text":"\\ud800"}]}', "content[0].text", "surrogate"],
  [
    "anthropic",
    { content: [{ type: "tool_use", id: "a", name: "f", input: 1 }] },
    "content[0].input",
    "object",
  ],
  [
    "anthropic",
    { content: [{ type: "tool_use", id: "a", name: "", input: {} }] },
    "content[0]",
    "without a name",
  ],
  [
    "anthropic",
    { content: [{ type: "tool_use", id: "a\n", name: "f", input: {} }] },
    "content[0]",
    "control",
  ],
  [
    "anthropic",
    `{"content":[{"type":"tool_use","id":"a","name":"f","input":${deep(129)}}]}`,
    "content[0]",
    "deep",
  ],
  ["anthropic", `{"content":${deep(300)}}`, "", "256 levels"],
  ["anthropic", { content: [], usage: { input_tokens: -1 } }, "usage.input_tokens", "whole number"],
  ["anthropic", { content: Array(1_025).fill({ type: "text", text: "x" }) }, "content", "1,024"],
  ["anthropic", { content: [{ type: "text", text: "x".repeat(4_194_305) }] }, "content[0].text", "4 MiB"],
  ["openai-chat", {}, "choices", "is missing"],
  ["openai-chat", { error: { message: "no" } }, "error", "not an answer"],
  ["openai-chat", { choices: [] }, "choices", "no entry 0"],
  ["openai-chat", { choices: [{}] }, "choices[0].message", "is missing"],
  [
    "openai-chat",
    { choices: [{ message: { tool_calls: [{ type: "custom", custom: {} }] } }] },
    "choices[0].message.tool_calls[0]",
    "no function call",
  ],
  ["openai-responses", {}, "output", "is missing"],
  ["openai-responses", { status: "in_progress", output: [] }, "status", "not finished"],
  ["openai-responses", { output: [{ type: "computer_call", call_id: "c" }] }, "output[0]", "computer_call"],
  ["openai-responses", { output: [{ type: "function_call", name: "f" }] }, "output[0].call_id", "is missing"],
  ["gemini", {}, "", "no candidate"],
  ["gemini", [], "", "no chunk"],
  ["gemini", { error: { code: 429 } }, "error", "not an answer"],
  ["gemini", { candidates: [{ content: { parts: [{}] } }] }, "candidates[0].content.parts[0]", "is empty"],
  [
    "gemini",
    { candidates: [{ content: { parts: [{ functionCall: { name: "f", args: [] } }] } }] },
    "candidates[0].content.parts[0].functionCall.args",
    "object",
  ],
  [
    "gemini",
    { candidates: [{ content: { parts: [{ inlineData: { mimeType: "image/png", data: media } }] } }] },
    "candidates[0].content.parts[0].inlineData.data",
    "1 MiB",
  ],
];

describe("a response that cannot be read", () => {
  test.each(
    bad.map(([format, body, path, word]) => [format, path, word, body] as const),
  )("of %s is refused at '%s': %s", (format, path, word, body) => {
    const problem = problemOf(format, body);
    expect(problem.slice(0, path.length + 1)).toBe(`${path}:`);
    expect(problem).toContain(word);
  });

  test("bytes that are not UTF-8 are refused", () => {
    const found = readResponse({ format: "gemini", bytes: Buffer.from([0x22, 0xff, 0x22]), candidate: 0 });
    expect(found).toEqual({ path: "", problem: "must be valid UTF-8" });
  });

  test("whatever is wrong, something is read or said: fuzzed responses", () => {
    const odd = fc.constantFrom(null, 0, -1, 1e99, "", "x", [], {}, [[]], [{}], true, "\0");
    fc.assert(
      fc.property(
        fc.constantFrom(...cases),
        fc.nat(),
        odd,
        fc.boolean(),
        ([format, , body], seed, value, isCut) => {
          const text = JSON.stringify(body);
          const bytes = isCut
            ? Buffer.from(text.slice(0, seed % text.length))
            : Buffer.from(JSON.stringify(replaced(JSON.parse(text), seed, value)));
          const found = readResponse({ format, bytes, candidate: 0 });
          if ("problem" in found) expect(found.problem).not.toBe("");
          else expect(found.parts.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: 3_000, seed: 13 },
    );
  });
});

/** The value with one of its parts, by number, replaced by another. */
function replaced(value: unknown, seed: number, by: unknown): unknown {
  const holders: (readonly [Record<string, unknown>, string])[] = [];
  const visit = (node: unknown) => {
    if (typeof node !== "object" || node === null) return;
    for (const key of Object.keys(node)) {
      holders.push([node as Record<string, unknown>, key]);
      visit((node as Record<string, unknown>)[key]);
    }
  };
  visit(value);
  const [holder, key] = holders[seed % holders.length]!;
  holder[key] = by;
  return value;
}
