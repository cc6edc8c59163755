import { describe, expect, it } from "vitest";
import { importOpenai } from "../../../src/transcripts/import/openai.js";
import { found, requireLedgerTakes, shapes } from "../plan-shape.js";

function plan(value: unknown) {
  const made = importOpenai(typeof value === "string" ? value : JSON.stringify(value), {
    label: "s",
    given: true,
  });
  requireLedgerTakes(made);
  return made;
}

const hello = { role: "user", content: "hello" };
const hi = { role: "assistant", content: "hi" };

describe("import openai", () => {
  it("reads a list of messages, a body, and JSON Lines of messages alike", () => {
    const expected = [["user hello", "assistant hi"]];
    expect(shapes(plan([hello, hi]).sessions[0])).toEqual(expected);
    expect(shapes(plan({ messages: [hello, hi] }).sessions[0])).toEqual(expected);
    expect(shapes(plan(`${JSON.stringify(hello)}\n${JSON.stringify(hi)}\n`).sessions[0])).toEqual(expected);
  });

  it("makes a session of each trajectory, with its plain values as metadata", () => {
    const made = plan([
      { task_id: 7, reward: 1, traj: [hello, hi], info: { task: {} } },
      { task_id: 8, reward: 0.5, traj: [hello] },
    ]);
    expect(made.sessions.map(({ label, metadata }) => ({ label, metadata }))).toEqual([
      { label: "s/1", metadata: { task_id: "7", reward: "1" } },
      { label: "s/2", metadata: { task_id: "8", reward: "0.5" } },
    ]);
    expect(found(made, '"info" beside the messages')).toBe(1);
  });

  it("makes a session of each line of a JSON Lines file of bodies", () => {
    const line = JSON.stringify({ messages: [hello, hi] });
    expect(plan(`${line}\n${line}\n${line}\n`).sessions.map(({ label }) => label)).toEqual([
      "s/1",
      "s/2",
      "s/3",
    ]);
  });

  it("takes developer messages as system messages", () => {
    expect(shapes(plan([{ role: "developer", content: "D" }, hello, hi]).sessions[0])).toEqual([
      ["system D", "user hello", "assistant hi"],
    ]);
  });

  it("reads texts, pictures by address and inline, and files; leaves audio out and says so", () => {
    const made = plan([
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: "https://example.org/a.png" } },
          { type: "image_url", image_url: { url: "data:image/jpeg;base64,AAEC" } },
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAECAw==" } },
          { type: "file", file: { file_id: "file-1" } },
          { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
        ],
      },
      hi,
    ]);
    expect(shapes(made.sessions[0])[0]?.[0]).toBe(
      "user look + image(https://example.org/a.png) + image(3 bytes image/jpeg) + file(4 bytes application/pdf) + file(openai-file:file-1)",
    );
    expect(found(made, "audio, left out")).toBe(1);
  });

  it("keeps content of an unknown type as opaque data", () => {
    const made = plan([{ role: "user", content: [{ type: "hologram", data: 1 }] }, hi]);
    expect(shapes(made.sessions[0])[0]?.[0]).toBe(
      'user opaque(openai hologram {"type":"hologram","data":1})',
    );
  });

  it("keeps tool arguments verbatim, even where they are not JSON", () => {
    const call = { id: "1", type: "function", function: { name: "f", arguments: '{"a": 1,, }' } };
    const made = plan([
      hello,
      { role: "assistant", content: "", tool_calls: [call] },
      { role: "tool", tool_call_id: "1", content: "" },
    ]);
    expect(shapes(made.sessions[0])[0]?.[1]).toBe('assistant -> f#1{"a": 1,, }');
  });

  it("pairs legacy function calls with their results", () => {
    const made = plan([
      hello,
      { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
      { role: "function", name: "f", content: "one" },
      { role: "assistant", content: null, function_call: { name: "g", arguments: "{}" } },
      { role: "function", name: "g", content: "two" },
      hi,
    ]);
    expect(shapes(made.sessions[0])).toEqual([
      [
        "user hello",
        "assistant -> f#call~1{}",
        "tool call~1=one",
        "assistant -> g#call~2{}",
        "tool call~2=two",
        "assistant hi",
      ],
    ]);
  });

  it("takes model and usage from the body", () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 },
    };
    const [turn] = plan({ model: "gpt-4o", usage, messages: [hello, hi] }).sessions[0]?.turns ?? [];
    expect(turn?.details.model).toBe("gpt-4o");
    expect(turn?.result.modelCalls.map((call) => call.usage)).toEqual([
      {
        inputTokens: 10,
        outputTokens: 5,
        cachedInputTokens: 4,
        cacheWriteTokens: 0,
        reasoningTokens: 2,
      },
    ]);
  });

  it("keeps arguments that are nested too deep as a text, and leaves out lines that are", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    const call = { id: "c", type: "function", function: { name: "f", arguments: nested(129) } };
    const deep = { role: "assistant", content: null, tool_calls: [call] };
    const made = plan([hello, deep, { role: "tool", tool_call_id: "c", content: "ok" }, hi]);
    expect(found(made, "arguments nested more than 128 levels deep")).toBe(1);
    const parts = made.sessions[0]!.turns.flatMap(({ messages }) => messages.flatMap(({ parts }) => parts));
    const kept = parts.find(({ content }) => content?.$case === "toolCall")?.content;
    expect(kept?.value).toMatchObject({ argumentsJson: JSON.stringify({ _raw: nested(129) }) });
    const lines = [JSON.stringify(hello), `{"role":"user","content":${nested(20_000)}}`, JSON.stringify(hi)];
    expect(found(plan(lines.join("\n")), "lines that are not JSON, or nested too deep")).toBe(1);
    expect(() => plan(nested(20_000))).toThrow("nested more than 1000 levels deep");
  });

  it("reports messages of unknown roles and lines that are not JSON, and reads the rest", () => {
    const made = plan(
      `${JSON.stringify(hello)}\n{"role":"narrator","content":"x"}\n${JSON.stringify(hi)}\n{"role":"us`,
    );
    expect(shapes(made.sessions[0])).toEqual([["user hello", "assistant hi"]]);
    expect(found(made, 'messages of the unknown role "narrator"')).toBe(1);
    expect(found(made, "lines that are not JSON")).toBe(1);
  });

  it.each([
    ["", /neither JSON nor JSON Lines/],
    ["[]", /empty list/],
    ['{"a": 1}', /neither a message with a role nor a conversation/],
    ['[{"role": "user",]', /neither JSON nor JSON Lines/],
  ])("refuses %j and says why", (text, reason) => {
    expect(() => plan(text)).toThrow(reason);
  });
});
