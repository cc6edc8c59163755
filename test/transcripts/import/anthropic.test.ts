import { describe, expect, it } from "vitest";
import { importAnthropic } from "../../../src/transcripts/import/anthropic.js";
import { found, requireLedgerTakes, shapes } from "../plan-shape.js";

function plan(value: unknown) {
  const made = importAnthropic(JSON.stringify(value), { label: "s", given: true });
  requireLedgerTakes(made);
  return made;
}

const hello = { role: "user", content: "hello" };
const toolUse = (id: string) => ({ type: "tool_use", id, name: "f", input: { q: 1 } });
const toolResult = (id: string, content: unknown = "r") => ({
  type: "tool_result",
  tool_use_id: id,
  content,
});

describe("import anthropic", () => {
  it("reads a body with its system prompt, as text or as blocks", () => {
    const messages = [hello, { role: "assistant", content: [{ type: "text", text: "hi" }] }];
    const expected = [["system S", "user hello", "assistant hi"]];
    expect(shapes(plan({ system: "S", messages }).sessions[0])).toEqual(expected);
    expect(shapes(plan({ system: [{ type: "text", text: "S" }], messages }).sessions[0])).toEqual(expected);
  });

  it("keeps thinking with its signature, and redacted thinking as opaque data", () => {
    const content = [
      { type: "thinking", thinking: "hm", signature: "sig==" },
      { type: "redacted_thinking", data: "ENCRYPTED" },
      { type: "text", text: "hi" },
    ];
    expect(shapes(plan([hello, { role: "assistant", content }]).sessions[0])).toEqual([
      [
        "user hello",
        "assistant thinking(hm/sig==/anthropic) + opaque(anthropic redacted_thinking ENCRYPTED) + hi",
      ],
    ]);
  });

  it("makes a TOOL message of the results in a user message, and a turn of what else it says", () => {
    const made = plan([
      hello,
      { role: "assistant", content: [toolUse("1"), toolUse("2")] },
      {
        role: "user",
        content: [
          toolResult("1"),
          toolResult("2", [{ type: "text", text: "x" }]),
          { type: "text", text: "and?" },
        ],
      },
      { role: "assistant", content: "done" },
    ]);
    expect(shapes(made.sessions[0])).toEqual([
      ["user hello", 'assistant -> f#1{"q":1} + -> f#2{"q":1}', "tool 1=r + 2=x"],
      ["user and?", "assistant done"],
    ]);
  });

  it("keeps results that failed, are empty, or hold pictures and documents", () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAEC" } };
    const made = plan([
      hello,
      { role: "assistant", content: [toolUse("1"), toolUse("2"), toolUse("3")] },
      {
        role: "user",
        content: [
          { ...toolResult("1", "bad"), is_error: true },
          toolResult("2", []),
          toolResult("3", [image]),
        ],
      },
    ]);
    expect(shapes(made.sessions[0])[0]?.[2]).toBe("tool 1=bad! + 2= + 3=image(3 bytes image/png)");
  });

  it("reads pictures and documents of every source", () => {
    const content = [
      { type: "image", source: { type: "url", url: "https://example.org/a.png" } },
      { type: "image", source: { type: "file", file_id: "f1" } },
      {
        type: "document",
        title: "T",
        source: { type: "base64", media_type: "application/pdf", data: "AAEC" },
      },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "plain" } },
      { type: "document", source: { type: "url", url: "https://example.org/a.pdf" } },
    ];
    expect(shapes(plan([{ role: "user", content }]).sessions[0])[0]?.[0]).toBe(
      "user image(https://example.org/a.png) + image(anthropic-file:f1) + file(3 bytes application/pdf) + file(5 bytes text/plain) + file(https://example.org/a.pdf)",
    );
  });

  it("keeps the provider's own tools as opaque data", () => {
    const block = { type: "server_tool_use", id: "srv", name: "web_search", input: {} };
    const made = plan([hello, { role: "assistant", content: [block] }]);
    expect(shapes(made.sessions[0])[0]?.[1]).toBe(
      `assistant opaque(anthropic server_tool_use ${JSON.stringify(block)})`,
    );
  });

  it("takes model, stop reason and usage from the answers, cached input included", () => {
    const answer = (output: number) => ({
      role: "assistant",
      model: "claude-sonnet-4-5",
      stop_reason: "end_turn",
      usage: {
        input_tokens: 3,
        output_tokens: output,
        cache_read_input_tokens: 100,
        cache_creation_input_tokens: 20,
      },
    });
    const made = plan([
      hello,
      { ...answer(7), content: [toolUse("1")], stop_reason: "tool_use" },
      { role: "user", content: [toolResult("1")] },
      { ...answer(5), content: "hi" },
    ]);
    const [turn] = made.sessions[0]?.turns ?? [];
    expect(turn?.details).toMatchObject({ model: "claude-sonnet-4-5", provider: "anthropic" });
    const usage = { inputTokens: 123, cachedInputTokens: 100, cacheWriteTokens: 20 };
    expect(turn?.result).toMatchObject({
      stopReason: "end_turn",
      modelCalls: [
        { model: "claude-sonnet-4-5", provider: "anthropic", usage: { ...usage, outputTokens: 7 } },
        { model: "claude-sonnet-4-5", provider: "anthropic", usage: { ...usage, outputTokens: 5 } },
      ],
    });
  });

  it("keeps a turn without its usage where that is more than can be", () => {
    const answer = { role: "assistant", usage: { input_tokens: 4_000_000_000, output_tokens: 1 } };
    const made = plan([
      hello,
      { ...answer, content: [toolUse("1")] },
      { role: "user", content: [toolResult("1")] },
      { ...answer, content: "hi" },
    ]);
    expect(made.sessions[0]?.turns[0]?.result.modelCalls).toEqual([]);
    expect(found(made, "turns that report more tokens than can be")).toBe(1);
  });

  it("reports cache marks, citations and tool definitions that it leaves out", () => {
    const made = plan({
      tools: [{ name: "f" }],
      messages: [
        { role: "user", content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }] },
        { role: "assistant", content: [{ type: "text", text: "b", citations: [{}] }] },
      ],
    });
    expect(found(made, "cache_control")).toBe(1);
    expect(found(made, "citations")).toBe(1);
    expect(found(made, '"tools" beside the messages')).toBe(1);
  });

  it("gives content that stands in the wrong role to one that may hold it", () => {
    const made = plan([
      {
        role: "user",
        content: [
          { type: "thinking", thinking: "t", signature: "" },
          { type: "text", text: "a" },
        ],
      },
      { role: "assistant", content: [toolUse("1"), toolResult("1")] },
      { role: "assistant", content: "b" },
    ]);
    expect(found(made, "content that its role cannot hold")).toBe(2);
    expect(shapes(made.sessions[0])[0]?.slice(1)).toEqual([
      'assistant -> f#1{"q":1}',
      "tool 1=r",
      "assistant b",
    ]);
  });
});
