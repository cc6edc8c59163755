import { describe, expect, test } from "vitest";
import { eventsOf } from "../../../examples/provider/stream.js";
import type { BodyFormat } from "../../../src/rendering/render-input.js";
import { anthropicResponses } from "./anthropic.js";
import { geminiResponses } from "./gemini.js";
import { chatResponses, openaiResponses } from "./openai.js";
import { problemOf, read } from "./read.js";

const answers: Readonly<Record<BodyFormat, Readonly<Record<string, unknown>>>> = {
  anthropic: anthropicResponses,
  "openai-responses": openaiResponses,
  "openai-chat": chatResponses,
  gemini: geminiResponses,
};
const all = Object.entries(answers).flatMap(([format, responses]) =>
  Object.entries(responses).map(([name, response]) => [format as BodyFormat, name, response] as const),
);

describe("a stream of server-sent events is an answer", () => {
  test.each(all)("%s: %s is read as if it had come whole", (format, _, response) => {
    const events = eventsOf(format, response);
    expect(read(format, events.join(""))).toEqual(read(format, response));
    const crlf = events.join(": a comment\n").replaceAll("\n", "\r\n");
    expect(read(format, crlf)).toEqual(read(format, response));
  });

  test.each(
    all.filter(([, name]) => name !== "several-candidates"),
  )("%s: %s that breaks off is refused wherever it does", (format, _, response) => {
    // OpenAI's last words are usage and [DONE]; the answer is whole before them.
    const needed = eventsOf(format, response).findLastIndex((event) =>
      /message_stop|"response\.(completed|incomplete|failed)"|"finish_reason":"|"finishReason":"|blockReason/.test(
        event,
      ),
    );
    const events = eventsOf(format, response).slice(0, needed + 1);
    for (let kept = 1; kept < events.length; kept++) {
      expect(problemOf(format, events.slice(0, kept).join(""))).toBe(
        ": is a stream that ends before the answer does",
      );
    }
  });

  test("arguments are the bytes that the model wrote", () => {
    const json = '{"b": 1.0, "10": [1e2],  "a": "\\u00fc"}';
    const block = { type: "tool_use", id: "t", name: "f", input: {} };
    const events = [
      { type: "message_start", message: { type: "message", role: "assistant", content: [], model: "m" } },
      { type: "content_block_start", index: 0, content_block: block },
      ...[...json].map((partial_json) => ({
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json },
      })),
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 5 } },
      { type: "message_stop" },
    ];
    const [part] = read("anthropic", sse(events)).parts;
    expect(part?.content).toMatchObject({ $case: "toolCall", value: { argumentsJson: json } });
  });

  test("a call that was cut off is recorded without its half arguments", () => {
    const block = { type: "tool_use", id: "t", name: "f", input: {} };
    const half = { type: "input_json_delta", partial_json: '{"a": "b' };
    const events = (stop_reason: string) => [
      { type: "message_start", message: { type: "message", content: [], model: "m" } },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta: half },
      { type: "message_delta", delta: { stop_reason } },
      { type: "message_stop" },
    ];
    expect(read("anthropic", sse(events("max_tokens"))).cutOff).toEqual([0]);
    expect(problemOf("anthropic", sse(events("tool_use")))).toBe("content[0].input: must be an object");
  });

  test("servers that repeat roles, ids and names in every chunk are understood", () => {
    const call = (text: string) => ({
      index: 0,
      id: "call_1",
      type: "function",
      function: { name: "find", arguments: text },
    });
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      model: "m",
      choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason }],
    });
    const chunks = [
      chunk({ content: "I " }),
      chunk({ content: "look." }),
      chunk({ tool_calls: [call('{"a"')] }),
      chunk({ tool_calls: [call(":1}")] }),
      chunk({ __proto__: null, constructor: "x" }),
      chunk({}, "tool_calls"),
    ];
    const [text, called] = read("openai-chat", sse(chunks)).parts;
    expect(text?.content).toMatchObject({ value: { text: "I look." } });
    expect(called?.content).toMatchObject({
      value: { callId: "call_1", name: "find", argumentsJson: '{"a":1}' },
    });
  });

  test("an error in the stream is no answer, and what is no JSON is refused where it is", () => {
    const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    expect(problemOf("anthropic", sse([error]))).toContain("is an error, not an answer");
    expect(problemOf("openai-responses", sse([error]))).toContain("is an error, not an answer");
    expect(problemOf("openai-chat", sse([{ error: {} }]))).toContain("is an error, not an answer");
    expect(problemOf("gemini", sse([{ error: { code: 503 } }]))).toContain("is an error, not an answer");
    expect(problemOf("gemini", "data: {}\n\ndata: {,}\n\n")).toBe("events[1]: must be a JSON object");
    expect(problemOf("gemini", `data: ${"[".repeat(300)}`)).toContain("levels deep");
  });
});

function sse(events: readonly object[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
}
