import { describe, expect, it } from "vitest";
import { importPiJsonl } from "../../../src/transcripts/import/pi-jsonl.js";
import { found, requireLedgerTakes, shapes } from "../plan-shape.js";

const header = {
  type: "session",
  version: 3,
  id: "8b0e",
  timestamp: "2026-01-02T03:04:05.000Z",
  cwd: "/home/me/app",
};
const time = "2026-01-02T03:04:06.000Z";

function plan(...entries: readonly object[]) {
  const text = entries.map((entry) => JSON.stringify(entry)).join("\n");
  const made = importPiJsonl(text, { label: "s", given: true });
  requireLedgerTakes(made);
  return made;
}

function entry(id: string, parentId: string | null, message: object) {
  return { type: "message", id, parentId, timestamp: time, message };
}

const user = (text: string) => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
const assistant = (text: string, more: object = {}) => ({
  role: "assistant",
  content: [{ type: "text", text }],
  api: "anthropic-messages",
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  usage: { input: 3, output: 4, cacheRead: 10, cacheWrite: 5, totalTokens: 22, cost: { total: 0 } },
  stopReason: "stop",
  ...more,
});

describe("import pi-jsonl", () => {
  it("keeps changes of the model: the session goes on with the last, a turn says what was set before it", () => {
    const { sessions } = plan(
      { ...header, provider: "anthropic", modelId: "claude-opus-4-5" },
      entry("a", null, user("go")),
      entry("b", "a", assistant("done")),
      { type: "thinking_level_change", id: "c", parentId: "b", thinkingLevel: "high" },
      { type: "model_change", id: "d", parentId: "c", provider: "openai", modelId: "gpt-5" },
      entry("e", "d", user("again")),
      entry("f", "e", assistant("done again")),
    );
    expect(sessions[0]!.defaults).toMatchObject({ model: "gpt-5", provider: "openai" });
    expect(sessions[0]!.turns.map(({ details }) => details.metadata)).toMatchObject([
      { "import.time": time },
      { "pi.model": "openai/gpt-5", "pi.thinking_level": "high" },
    ]);
    const before = plan({ ...header, modelId: "claude-opus-4-5" }, entry("a", null, user("go")));
    expect(before.sessions[0]!.defaults).toMatchObject({ model: "claude-opus-4-5" });
  });

  it("reads texts, thinking, calls and results, with model, usage, stop reason and folder", () => {
    const made = plan(
      header,
      entry("a", null, user("go")),
      entry(
        "b",
        "a",
        assistant("", {
          content: [
            { type: "thinking", thinking: "hm", thinkingSignature: "sig" },
            { type: "toolCall", id: "t1", name: "bash", arguments: { command: "ls" } },
          ],
          stopReason: "toolUse",
        }),
      ),
      entry("c", "b", {
        role: "toolResult",
        toolCallId: "t1",
        toolName: "bash",
        content: [
          { type: "text", text: "out" },
          { type: "image", data: "AAEC", mimeType: "image/png" },
        ],
        isError: true,
      }),
      entry("d", "c", assistant("done")),
    );
    expect(shapes(made.sessions[0])).toEqual([
      [
        "user go",
        'assistant thinking(hm/sig/anthropic) + -> bash#t1{"command":"ls"}',
        "tool t1=out,image(3 bytes image/png)!",
        "assistant done",
      ],
    ]);
    const [turn] = made.sessions[0]?.turns ?? [];
    expect(turn?.details).toMatchObject({
      model: "claude-sonnet-4-5",
      provider: "anthropic",
      workspacePath: "/home/me/app",
      metadata: { "import.time": time },
    });
    expect(turn?.result.stopReason).toBe("stop");
    const usage = {
      inputTokens: 18,
      outputTokens: 4,
      cachedInputTokens: 10,
      cacheWriteTokens: 5,
      reasoningTokens: 0,
    };
    expect(turn?.result.modelCalls.map((call) => call.usage)).toEqual([usage, usage]);
  });

  it("takes the branch of the last entry as the session and forks the others where they part", () => {
    const made = plan(
      header,
      entry("a", null, user("one")),
      entry("b", "a", assistant("1")),
      entry("c", "b", user("two")),
      entry("d", "c", assistant("2")),
      entry("e", "b", user("two, but else")),
      entry("f", "e", assistant("2'")),
    );
    expect(made.sessions.map(({ label, forkOf }) => ({ label, forkOf }))).toEqual([
      { label: "s", forkOf: undefined },
      { label: "s~2", forkOf: { session: 0, turns: 1 } },
    ]);
    expect(shapes(made.sessions[0])).toEqual([
      ["user one", "assistant 1"],
      ["user two, but else", "assistant 2'"],
    ]);
    expect(shapes(made.sessions[1])).toEqual([["user two", "assistant 2"]]);
    expect(found(made, "branches besides the main one")).toBe(1);
  });

  it("forks before a turn that branches in its midst, and writes the turn once for each branch", () => {
    const made = plan(
      header,
      entry("a", null, user("one")),
      entry("b", "a", assistant("first try")),
      entry("c", "a", assistant("second try")),
    );
    expect(made.sessions.map(({ forkOf }) => forkOf)).toEqual([undefined, undefined]);
    expect(made.sessions.map((session) => shapes(session))).toEqual([
      [["user one", "assistant second try"]],
      [["user one", "assistant first try"]],
    ]);
  });

  it("reads files of the first version, whose entries have no ids, as a line", () => {
    const made = plan(
      { type: "session", id: "x", timestamp: time, cwd: "/w", provider: "anthropic", modelId: "m" },
      { type: "message", timestamp: time, message: user("a") },
      { type: "model_change", timestamp: time, provider: "openai", modelId: "gpt-4o" },
      { type: "message", timestamp: time, message: assistant("b") },
    );
    expect(shapes(made.sessions[0])).toEqual([["user a", "assistant b"]]);
    expect(made.findings).toEqual([]);
  });

  it("keeps an aborted answer without content, with its error beside the turn", () => {
    const made = plan(
      header,
      entry("a", null, user("/mode")),
      entry(
        "b",
        "a",
        assistant("", { content: [], stopReason: "aborted", errorMessage: "Request was aborted" }),
      ),
      entry("c", "b", user("go on")),
      entry("d", "c", assistant("ok")),
    );
    expect(shapes(made.sessions[0])).toEqual([
      ["user /mode", "assistant "],
      ["user go on", "assistant ok"],
    ]);
    expect(made.sessions[0]?.turns[0]?.details.metadata["import.error"]).toBe("Request was aborted");
    expect(made.sessions[0]?.turns[0]?.result.stopReason).toBe("aborted");
  });

  it("keeps what pi put into the model's context as user messages, and reports what no model saw", () => {
    const made = plan(
      header,
      entry("a", null, {
        role: "bashExecution",
        command: "ls",
        output: "x",
        exitCode: 0,
        cancelled: false,
        truncated: false,
      }),
      entry("b", "a", { role: "bashExecution", command: "secret", output: "y", excludeFromContext: true }),
      {
        type: "custom_message",
        id: "c",
        parentId: "b",
        customType: "note",
        content: "remember",
        display: true,
      },
      { type: "branch_summary", id: "d", parentId: "c", fromId: "z", summary: "tried A" },
      {
        type: "compaction",
        id: "e",
        parentId: "d",
        summary: "long ago",
        firstKeptEntryId: "a",
        tokensBefore: 5,
      },
      { type: "label", id: "f", parentId: "e", targetId: "a", label: "x" },
      { type: "session_info", id: "g", parentId: "f", name: "Refactor" },
      entry("h", "g", assistant("ok")),
    );
    expect(shapes(made.sessions[0])).toEqual([
      ["user Ran `ls`\nx", "user remember", "user [summary of another branch]\ntried A", "assistant ok"],
    ]);
    expect(made.sessions[0]?.metadata.name).toBe("Refactor");
    expect(found(made, "commands that no model saw")).toBe(1);
    expect(found(made, "compaction summaries, left out")).toBe(1);
    expect(found(made, '"label" entries')).toBe(1);
  });

  it("refuses a file without a session line", () => {
    expect(() => plan(entry("a", null, user("a")))).toThrow(/no pi session/);
  });
});
