import { expect, test } from "vitest";
import { readOverflow } from "../../src/rendering/read-overflow.js";

const anthropic = (message: string) =>
  JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } });
const openai = (message: string) =>
  JSON.stringify({ error: { message, type: "invalid_request_error", code: "context_length_exceeded" } });
const gemini = (message: string) =>
  JSON.stringify({ error: { code: 400, message, status: "INVALID_ARGUMENT" } });

test.each([
  [anthropic("prompt is too long: 208310 tokens > 200000 maximum"), 200_000, 208_310],
  [
    anthropic(
      "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
    ),
    200_000,
    190_000,
  ],
  [
    openai(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens. Please reduce the length of the messages.",
    ),
    128_000,
    130_012,
  ],
  [
    openai(
      "This model's maximum context length is 8192 tokens, however you requested 9000 tokens (8000 in your prompt; 1000 for the completion). Please reduce your prompt; or completion length.",
    ),
    8_192,
    8_000,
  ],
  [
    openai(
      "This model's maximum context length is 4,096 tokens. However, you requested 5,000 tokens (4,000 in the messages, 1,000 in the completion).",
    ),
    4_096,
    4_000,
  ],
  [
    openai(
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens. Please reduce the length of the messages.",
    ),
    272_000,
    300_123,
  ],
  [
    gemini("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    1_048_576,
    1_200_000,
  ],
  [
    gemini("The input token count exceeds the maximum number of tokens allowed 1048576."),
    1_048_576,
    undefined,
  ],
  [
    gemini(
      "Unable to submit request because the input token count is 1048577 but model only supports up to 1048576. Reduce the input token count and try again.",
    ),
    1_048_576,
    1_048_577,
  ],
  [
    "the request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    4_096,
    9_000,
  ],
  [
    openai("Your input exceeds the context window of this model. Please adjust your input and try again."),
    undefined,
    undefined,
  ],
  ["prompt is too long: 99999999999999 tokens > 0 maximum", undefined, undefined],
  ["", undefined, undefined],
  ["{]", undefined, undefined],
])("an overflow's limit and count are read from %s", (text, limitTokens, contextTokens) => {
  const read = readOverflow(text);
  expect(read.limitTokens).toBe(limitTokens);
  expect(read.contextTokens).toBe(contextTokens);
});

test("a long text of almost the right words is read at once", () => {
  const text = "maximum context length is 1 tokens. however, !".repeat(1_400).slice(0, 65_536);
  expect(readOverflow(text)).toEqual({ limitTokens: 1 });
});
