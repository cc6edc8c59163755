import { describe, expect, it } from "vitest";
import { importClaudeCodeJsonl } from "../../../src/transcripts/import/claude-code-jsonl.js";
import { found, requireLedgerTakes, shapes } from "../plan-shape.js";

function plan(...entries: readonly object[]) {
  const text = entries.map((entry) => JSON.stringify(entry)).join("\n");
  const made = importClaudeCodeJsonl(text, { label: "s", given: true });
  requireLedgerTakes(made);
  return made;
}

const common = {
  sessionId: "sess",
  version: "2.0.0",
  cwd: "/home/me/app",
  gitBranch: "main",
  isSidechain: false,
};

function user(uuid: string, parentUuid: string | null, content: unknown, more: object = {}) {
  return {
    ...common,
    type: "user",
    uuid,
    parentUuid,
    timestamp: "2026-01-02T03:04:05Z",
    message: { role: "user", content },
    ...more,
  };
}

function assistant(uuid: string, parentUuid: string, id: string, block: object, more: object = {}) {
  const usage = {
    input_tokens: 2,
    output_tokens: 5,
    cache_read_input_tokens: 10,
    cache_creation_input_tokens: 3,
  };
  const message = {
    id,
    role: "assistant",
    model: "claude-opus-4-5",
    content: [block],
    stop_reason: null,
    usage,
  };
  return {
    ...common,
    type: "assistant",
    uuid,
    parentUuid,
    requestId: "req",
    message: { ...message, ...more },
  };
}

const text = (value: string) => ({ type: "text", text: value });
const use = (id: string, input: object = {}) => ({ type: "tool_use", id, name: "Bash", input });
const result = (id: string, content = `of ${id}`) => ({ type: "tool_result", tool_use_id: id, content });

describe("import claude-code-jsonl", () => {
  it("joins the lines of one answer, and counts its usage once", () => {
    const made = plan(
      user("1", null, "go"),
      assistant("2", "1", "m1", { type: "thinking", thinking: "hm", signature: "sig" }),
      assistant("3", "2", "m1", text("I look")),
      assistant("4", "3", "m1", use("t1"), { stop_reason: "tool_use" }),
      user("5", "4", [result("t1")], { toolUseResult: { stdout: "x" } }),
      assistant("6", "5", "m2", text("done"), { stop_reason: "end_turn" }),
    );
    expect(shapes(made.sessions[0])).toEqual([
      [
        "user go",
        "assistant thinking(hm/sig/anthropic) + I look + -> Bash#t1{}",
        "tool t1=of t1",
        "assistant done",
      ],
    ]);
    const [turn] = made.sessions[0]?.turns ?? [];
    const usage = { inputTokens: 15, outputTokens: 5, cachedInputTokens: 10, cacheWriteTokens: 3 };
    expect(turn?.result).toMatchObject({ stopReason: "end_turn", modelCalls: [{ usage }, { usage }] });
    expect(turn?.details).toMatchObject({
      model: "claude-opus-4-5",
      provider: "anthropic",
      workspacePath: "/home/me/app",
    });
    expect(made.sessions[0]?.metadata).toMatchObject({
      "claude_code.session_id": "sess",
      "claude_code.git_branch": "main",
    });
  });

  it("does not take parallel calls for branches, however their results hang in the tree", () => {
    const expected = [
      ["user go", "assistant -> Bash#a{} + -> Bash#b{}", "tool a=of a + b=of b", "assistant done"],
    ];
    const belowEachCall = plan(
      user("1", null, "go"),
      assistant("2", "1", "m1", use("a")),
      assistant("3", "2", "m1", use("b")),
      user("4", "2", [result("a")]),
      user("5", "3", [result("b")]),
      assistant("6", "5", "m2", text("done")),
    );
    const whileTheAnswerGoesOn = plan(
      user("1", null, "go"),
      assistant("2", "1", "m1", use("a")),
      user("3", "2", [result("a")]),
      assistant("4", "3", "m1", use("b")),
      user("5", "4", [result("b")]),
      assistant("6", "5", "m2", text("done")),
    );
    const inALine = plan(
      user("1", null, "go"),
      assistant("2", "1", "m1", use("a")),
      assistant("3", "2", "m1", use("b")),
      user("4", "3", [result("a")]),
      user("5", "4", [result("b")]),
      assistant("6", "5", "m2", text("done")),
    );
    for (const made of [belowEachCall, whileTheAnswerGoesOn, inALine]) {
      expect(made.sessions).toHaveLength(1);
      expect(shapes(made.sessions[0])).toEqual(expected);
    }
  });

  it("forks at a question that was asked again", () => {
    const made = plan(
      user("1", null, "one"),
      assistant("2", "1", "m1", text("1")),
      user("3", "2", "two"),
      assistant("4", "3", "m2", text("2")),
      user("5", "2", "two again"),
      assistant("6", "5", "m3", text("3")),
    );
    expect(made.sessions.map(({ label, forkOf }) => ({ label, forkOf }))).toEqual([
      { label: "s", forkOf: undefined },
      { label: "s~2", forkOf: { session: 0, turns: 1 } },
    ]);
    expect(shapes(made.sessions[1])).toEqual([["user two", "assistant 2"]]);
  });

  it("makes a linked session of each sidechain", () => {
    const side = { isSidechain: true, agentId: "a1" };
    const made = plan(
      user("1", null, "go"),
      assistant("2", "1", "m1", { type: "tool_use", id: "t1", name: "Task", input: { prompt: "find it" } }),
      user("s1", null, "find it", side),
      { ...assistant("s2", "s1", "m9", text("found")), ...side },
      user("3", "2", [result("t1", "found")]),
      assistant("4", "3", "m2", text("done")),
    );
    expect(made.sessions.map(({ label }) => label)).toEqual(["s", "s/agent-a1"]);
    expect(made.sessions[1]?.subAgent).toEqual({
      parent: 0,
      task: "find it",
      taskStatus: "TASK_STATUS_COMPLETED",
      spawningCallId: "t1",
    });
    expect(shapes(made.sessions[1])).toEqual([["user find it", "assistant found"]]);
    expect(shapes(made.sessions[0])).toHaveLength(1);
  });

  it("reads a file that is a sub-agent's own transcript as a session", () => {
    const side = { isSidechain: true, agentId: "a1" };
    const made = plan(user("1", null, "find it", side), {
      ...assistant("2", "1", "m1", text("found")),
      ...side,
    });
    expect(shapes(made.sessions[0])).toEqual([["user find it", "assistant found"]]);
    expect(made.sessions).toHaveLength(1);
  });

  it("goes on across a compaction, and keeps its summary as a user message", () => {
    const made = plan(
      user("1", null, "one"),
      assistant("2", "1", "m1", text("1")),
      {
        ...common,
        type: "system",
        subtype: "compact_boundary",
        uuid: "3",
        parentUuid: null,
        logicalParentUuid: "2",
      },
      user("4", "3", "This session is being continued", { isCompactSummary: true }),
      assistant("5", "4", "m2", text("2")),
    );
    expect(made.sessions).toHaveLength(1);
    expect(shapes(made.sessions[0])).toEqual([
      ["user one", "assistant 1"],
      ["user This session is being continued", "assistant 2"],
    ]);
    expect(found(made, "compaction summaries, kept")).toBe(1);
    expect(found(made, '"system/compact_boundary" entries')).toBe(1);
  });

  it("leaves calls open that an interruption left without a result", () => {
    const made = plan(
      user("1", null, "go"),
      assistant("2", "1", "m1", use("t1")),
      user("3", "2", [text("[Request interrupted by user]")]),
      assistant("4", "3", "m2", text("ok")),
    );
    expect(shapes(made.sessions[0])).toEqual([
      ["user go", "assistant -> Bash#t1{}", "(awaiting)"],
      ["(abandons)", "user [Request interrupted by user]", "assistant ok"],
    ]);
  });

  it("passes over entries that are no messages, and reports them by type", () => {
    const made = plan(
      { type: "summary", summary: "Fixing the app", leafUuid: "4" },
      { type: "file-history-snapshot", messageId: "x", snapshot: {} },
      user("1", null, "Caveat: ...", { isMeta: true }),
      { ...common, type: "progress", uuid: "p", parentUuid: "1", data: {} },
      user("2", "p", "go"),
      { ...common, type: "system", subtype: "local_command", uuid: "q", parentUuid: "2", content: "x" },
      assistant("3", "q", "m1", text("API Error"), { model: "<synthetic>" }),
      user("3", "q", "a second entry of the same uuid"),
    );
    expect(shapes(made.sessions[0])).toEqual([["user Caveat: ...", "user go", "assistant API Error"]]);
    expect(made.sessions[0]?.metadata.summary).toBe("Fixing the app");
    expect(made.sessions[0]?.turns[0]?.details.model).toBe("");
    expect(found(made, '"file-history-snapshot" entries')).toBe(1);
    expect(found(made, '"progress" entries')).toBe(1);
    expect(found(made, "notes of the program")).toBe(1);
    expect(found(made, "answers that the program wrote itself")).toBe(1);
    expect(found(made, "entries that the file holds twice")).toBe(1);
  });

  it("joins an entry whose parent is in another file to the entry before it", () => {
    const made = plan(
      user("1", "elsewhere", "one"),
      assistant("2", "1", "m1", text("1")),
      user("3", "gone", "two"),
    );
    expect(made.sessions).toHaveLength(1);
    expect(found(made, "entries whose parent is not in the file")).toBe(1);
  });

  it("refuses a file without messages", () => {
    expect(() => plan({ type: "summary", summary: "x", leafUuid: "y" })).toThrow(/no Claude Code transcript/);
  });
});
