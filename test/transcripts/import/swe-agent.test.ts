import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../../src/config/package-root.js";
import { UnreadableInput } from "../../../src/errors/unreadable-input.js";
import { importSweAgent } from "../../../src/transcripts/import/swe-agent.js";
import { found, requireLedgerTakes, shapes } from "../plan-shape.js";

const read = (file: object) => importSweAgent(JSON.stringify(file), { label: "traj", given: true });

describe("a trajectory of SWE-agent", () => {
  it("with tool calls: each result answers its call", () => {
    const calls = [{ id: "c1", type: "function", function: { name: "open", arguments: '{"path":"a.py"}' } }];
    const plan = read({
      history: [
        { role: "system", content: "You fix bugs." },
        { role: "user", content: "Fix a.py" },
        {
          role: "assistant",
          content: "I open it.",
          thought: "I open it.",
          action: "open a.py",
          tool_calls: calls,
        },
        { role: "tool", content: "def f()", tool_call_ids: ["c1"] },
        { role: "assistant", content: "A colon is missing." },
      ],
    });
    requireLedgerTakes(plan);
    expect(shapes(plan.sessions[0])).toEqual([
      [
        "system You fix bugs.",
        "user Fix a.py",
        'assistant I open it. + -> open#c1{"path":"a.py"}',
        "tool c1=def f()",
        "assistant A colon is missing.",
      ],
    ]);
  });

  it("with actions in text: an action is a call, and what was seen is its result", () => {
    const plan = read({
      environment: "swe_main",
      info: { exit_status: "submitted" },
      trajectory: [{ action: "ls", observation: "a.py", state: '{"working_dir": "/repo"}' }],
      history: [
        { role: "user", content: "Fix a.py" },
        { role: "assistant", content: "I look.\n```\nls\n```", thought: "I look.", action: "ls\n" },
        { role: "user", content: "a.py" },
        { role: "assistant", content: "Before.\n```\nls\n```\nAfter.", thought: "Before.", action: "ls" },
        { role: "user", content: [{ type: "text", text: "b.py" }] },
      ],
    });
    requireLedgerTakes(plan);
    const [session] = plan.sessions;
    expect(shapes(session)).toEqual([
      [
        "user Fix a.py",
        'assistant I look. + -> bash#action_2{"command":"ls"}',
        "tool action_2=a.py",
        'assistant Before.\n```\nls\n```\nAfter. + -> bash#action_4{"command":"ls"}',
        "tool action_4=b.py",
      ],
    ]);
    expect(session).toMatchObject({
      workspacePath: "/repo",
      metadata: { "swe_agent.environment": "swe_main", "swe_agent.exit_status": "submitted" },
    });
    expect(found(plan, "actions written as text")).toBe(2);
  });

  it("without a history: the steps are read", () => {
    const plan = read({
      trajectory: [
        { action: "ls", observation: "a.py", response: "", thought: "I look." },
        { action: "submit", observation: "", response: "Done.\n```\nsubmit\n```", thought: "Done." },
      ],
    });
    requireLedgerTakes(plan);
    expect(shapes(plan.sessions[0])[0]?.slice(1)).toEqual([
      'assistant I look. + -> bash#action_1{"command":"ls"}',
      "tool action_1=a.py",
      'assistant Done. + -> bash#action_2{"command":"submit"}',
      "tool action_2=",
    ]);
  });

  it("of another form is refused", () => {
    for (const file of [{}, [], { history: 3 }, "text"])
      expect(() => importSweAgent(JSON.stringify(file), { label: "x", given: true })).toThrow(
        UnreadableInput,
      );
  });

  it("that is odd inside becomes turns that the ledger takes", () => {
    for (const entry of [
      null,
      3,
      "x",
      {},
      { role: "user" },
      { role: "tool", tool_call_ids: [] },
      { role: "assistant", action: "ls" },
    ])
      requireLedgerTakes(
        read({ history: [{ role: "user", content: "go" }, entry, { role: "assistant", content: "ok" }] }),
      );
  });
});

const folder = join(process.env.QUIRE_EVAL_DATA ?? join(packageRoot, "..", "shared", "data"), "swe-agent");
if (!existsSync(folder))
  console.warn(`SWE-agent trajectories: SKIPPED, there is no ${folder} (QUIRE_EVAL_DATA names the folder)`);

describe.skipIf(!existsSync(folder))("real trajectories of SWE-agent", () => {
  it.each(["function_calling_simple.traj", "pydicom-1458.traj"])("%s: every call has its result", (name) => {
    const plan = importSweAgent(readFileSync(join(folder, name), "utf8"), { label: "swe", given: true });
    requireLedgerTakes(plan);
    const parts = plan.sessions[0]!.turns.flatMap(({ messages }) =>
      messages.flatMap((message) => message.parts),
    );
    const of = (kind: string) => parts.filter(({ content }) => content?.$case === kind).length;
    expect(of("toolCall")).toBeGreaterThan(3);
    expect(of("toolResult")).toBeGreaterThanOrEqual(of("toolCall") - 1);
  });
});
