import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { QuireClient } from "../../../src/cli/client/quire-client.js";
import { packageRoot } from "../../../src/config/package-root.js";
import {
  RecordTurnRequest,
  UpdateSessionRequest,
} from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { MessageRole } from "../../../src/contract/gen/quire/v1/message.js";
import { AgentResult } from "../../../src/contract/gen/quire/v1/turn.js";
import { startTestServer, type TestServer } from "../../support/server.js";
import { jsonLines, runCli } from "../support/run-cli.js";

let server: TestServer;
let client: QuireClient;
const folder = mkdtempSync(join(tmpdir(), "quire-import-"));

const quire = (...args: readonly string[]) => runCli(...args, "--address", server.address);

function write(name: string, text: unknown): string {
  const file = join(folder, name);
  writeFileSync(file, typeof text === "string" ? text : JSON.stringify(text));
  return file;
}

interface Summary {
  readonly sessions: readonly {
    label: string;
    id: string;
    planned: number;
    found: number;
    written: number;
  }[];
  readonly messages: number;
  readonly findings: readonly { what: string; count: number }[];
}

async function summary(...args: readonly string[]): Promise<Summary> {
  const { code, out, err } = await quire("import", ...args, "--json");
  expect(err).toBe("");
  expect(code).toBe(0);
  return JSON.parse(out) as Summary;
}

const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });
const exchanges = (count: number) =>
  Array.from({ length: count }, (_, n) => [user(`q${n}`), assistant(`a${n}`)]).flat();

async function record(session: string, parentTurnId: string, ...texts: readonly [string, string]) {
  const text = (value: string) => [{ content: { $case: "text", value: { text: value } } as const }];
  const request = RecordTurnRequest.fromPartial({
    session,
    parentTurnId,
    messages: [
      { role: MessageRole.USER, parts: text(texts[0]) },
      { role: MessageRole.ASSISTANT, parts: text(texts[1]) },
    ],
    result: AgentResult.fromPartial({}),
  });
  const response = await client.ledger.recordTurn(request);
  return response.turn?.id ?? "";
}

beforeAll(async () => {
  server = await startTestServer();
  client = new QuireClient({ address: server.address, authorities: undefined });
});

afterAll(async () => {
  client?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("quire import", () => {
  it("writes the turns, says how far it is on stderr, and what it wrote on stdout", async () => {
    const { code, out, err } = await quire(
      "import",
      write("plain.json", exchanges(20)),
      "--format",
      "openai",
    );
    expect(code).toBe(0);
    expect(out).toContain("imported 1 session, 20 turns, 40 messages");
    expect(err).toContain("20 of 20 turns");
  });

  it("does nothing the second time", async () => {
    const file = write("twice.json", exchanges(3));
    expect((await summary(file, "--format", "openai")).sessions).toMatchObject([{ found: 0, written: 3 }]);
    expect((await summary(file, "--format", "openai")).sessions).toMatchObject([{ found: 3, written: 0 }]);
  });

  it("takes up an import that stopped half way", async () => {
    const file = write("half.json", exchanges(4));
    const { session } = await client.ledger.createSession({
      requestId: "",
      label: "half",
      workspacePath: "",
      metadata: {},
      subAgent: undefined,
      defaults: undefined,
    });
    await record("half", await record("half", "", "q0", "a0"), "q1", "a1");
    expect((await summary(file, "--format", "openai")).sessions).toMatchObject([
      { id: session?.id, planned: 4, found: 2, written: 2 },
    ]);
    expect(jsonLines((await quire("turns", "half", "--json")).out)).toHaveLength(4);
  });

  it("leaves a session alone that went on after its import", async () => {
    const file = write("on.json", exchanges(2));
    await summary(file, "--format", "openai");
    const [head] = jsonLines<{ id: string }>((await quire("turns", "on", "--json")).out);
    await record("on", head?.id ?? "", "new", "newer");
    expect((await summary(file, "--format", "openai")).sessions).toMatchObject([{ found: 2, written: 0 }]);
    expect(jsonLines((await quire("turns", "on", "--json")).out)).toHaveLength(3);
  });

  it("refuses a label whose session holds another conversation, before it writes anything", async () => {
    await summary(write("taken.json", exchanges(2)), "--format", "openai", "--session", "taken/2");
    const file = write("other.json", [{ messages: [user("x")] }, { messages: [user("y")] }]);
    const { code, out, err } = await quire("import", file, "--format", "openai", "--session", "taken");
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain('there is a session "taken/2" already, and it holds another conversation');
    expect(err).toContain("--session <label>");
    expect(jsonLines((await quire("sessions", "--json", "--prefix", "taken")).out)).toHaveLength(1);
  });

  it("can import again what was imported and then deleted", async () => {
    const file = write("gone.json", exchanges(2));
    await summary(file, "--format", "openai");
    await new Promise((resolve) => {
      server.ledger.deleteSession({ requestId: "", session: "gone", cascade: false }, resolve);
    });
    expect((await summary(file, "--format", "openai")).sessions).toMatchObject([{ found: 0, written: 2 }]);
    expect(jsonLines((await quire("turns", "gone", "--json")).out)).toHaveLength(2);
  });

  it("writes anew what a head that was moved back no longer reaches", async () => {
    const file = write("moved.json", exchanges(3));
    await summary(file, "--format", "openai");
    const turns = jsonLines<{ id: string }>((await quire("turns", "moved", "--json")).out);
    const [head, , first] = turns.map(({ id }) => id);
    const request = UpdateSessionRequest.fromPartial({
      session: "moved",
      headTurnId: first ?? "",
      expectedHeadTurnId: head ?? "",
    });
    await new Promise((resolve) => server.ledger.updateSession(request, resolve));
    expect((await summary(file, "--format", "openai")).sessions).toMatchObject([{ found: 1, written: 2 }]);
    expect(jsonLines((await quire("turns", "moved", "--json")).out)).toHaveLength(3);
  });

  it("says what was written when it fails in the midst, and goes on from there", async () => {
    const lines = [
      { session: { label: "broken" } },
      { turn: { status: "TURN_STATUS_COMPLETED" } },
      { message: { role: "MESSAGE_ROLE_USER", parts: [{ text: { text: "a" } }] } },
      { turn: { status: "TURN_STATUS_COMPLETED" } },
      { message: { role: "MESSAGE_ROLE_ASSISTANT", parts: [{ text: { text: "out of place" } }] } },
    ];
    const text = lines.map((line) => JSON.stringify(line)).join("\n");
    const { code, err } = await quire("import", write("broken.jsonl", text), "--format", "quire-jsonl");
    expect(code).toBe(1);
    expect(err).toContain("reason: BAD_ROLE_ORDER");
    expect(err).toContain("1 of 2 turns are known to be written, in 1 session");
    const mended = write("broken.jsonl", text.replace("_ASSISTANT", "_USER"));
    expect((await summary(mended, "--format", "quire-jsonl")).sessions).toMatchObject([
      { found: 1, written: 1 },
    ]);
  });

  it("writes a turn that is too large for one call step by step", async () => {
    const round = (n: number) => [
      { role: "assistant", tool_calls: [{ id: `c${n}`, function: { name: "f", arguments: "{}" } }] },
      { role: "tool", tool_call_id: `c${n}`, content: "r" },
    ];
    const long = [user("go"), ...Array.from({ length: 2_500 }, (_, n) => round(n)).flat()];
    const file = write("long.json", long);
    expect((await summary(file, "--format", "openai")).messages).toBe(5_001);
    expect(jsonLines((await quire("turns", "long", "--json")).out)).toMatchObject([{ messageCount: 5_001 }]);
    expect((await summary(file, "--format", "openai")).sessions).toMatchObject([{ found: 1, written: 0 }]);
  });

  it("writes the branches of a pi session as forks", async () => {
    const entry = (id: string, parentId: string | null, message: object) => ({
      type: "message",
      id,
      parentId,
      message,
    });
    const lines = [
      { type: "session", version: 3, id: "x", cwd: "/w" },
      entry("a", null, user("one")),
      entry("b", "a", {
        ...assistant(""),
        content: [{ type: "text", text: "1" }],
        model: "m",
        provider: "p",
      }),
      entry("c", "b", user("two")),
      entry("d", "b", user("two, but else")),
    ];
    const file = write("tree.jsonl", lines.map((line) => JSON.stringify(line)).join("\n"));
    const { sessions } = await summary(file, "--format", "pi-jsonl");
    expect(sessions).toMatchObject([
      { label: "tree", planned: 2, written: 2 },
      { label: "tree~2", planned: 1, written: 1 },
    ]);
    const depth = async (label: string) => jsonLines((await quire("turns", label, "--json")).out).length;
    expect([await depth("tree"), await depth("tree~2")]).toEqual([2, 2]);
    const forks = jsonLines<{ label: string; forkedFromTurnId?: string }>(
      (await quire("sessions", "--json", "--prefix", "tree~")).out,
    );
    expect(forks[0]?.forkedFromTurnId).toMatch(/^[0-9a-f-]{36}$/);
    expect((await summary(file, "--format", "pi-jsonl")).sessions).toMatchObject([
      { written: 0 },
      { found: 1, written: 0 },
    ]);
  });

  it("links the sub-agents of a Claude Code transcript to its session", async () => {
    const line = (
      type: string,
      uuid: string,
      parentUuid: string | null,
      message: object,
      more: object = {},
    ) => JSON.stringify({ type, uuid, parentUuid, isSidechain: false, message, ...more });
    const side = { isSidechain: true, agentId: "a1" };
    const task = { type: "tool_use", id: "t1", name: "Task", input: { prompt: "find it" } };
    const text = [
      line("user", "1", null, user("go")),
      line("assistant", "2", "1", { id: "m1", role: "assistant", content: [task] }),
      line("user", "3", null, user("find it"), side),
      line(
        "assistant",
        "4",
        "3",
        { id: "m2", role: "assistant", content: [{ type: "text", text: "here" }] },
        side,
      ),
    ].join("\n");
    const file = write("0198c0de-0000-7000-8000-000000000001.jsonl", text);
    const { sessions, findings } = await summary(file, "--format", "claude-code-jsonl");
    const label = "claude-code-jsonl-0198c0de-0000-7000-8000-000000000001";
    expect(sessions.map((session) => session.label)).toEqual([label, `${label}/agent-a1`]);
    expect(findings.map(({ what }) => what)).toContain("tool calls that were never answered, kept open");
    const table = await quire("sessions", "--prefix", `${label}/`);
    expect(table.out).toContain("completed: find it");
    expect(jsonLines((await quire("turns", label, "--json")).out)).toMatchObject([
      { status: "TURN_STATUS_AWAITING", openItems: [{ id: "t1" }] },
    ]);
  });

  it("imports Anthropic bodies", async () => {
    const body = { system: "S", model: "claude-x", messages: [user("a"), assistant("b")] };
    await summary(write("body.json", body), "--format", "anthropic");
    expect(jsonLines((await quire("turns", "body", "--json")).out)).toMatchObject([
      { messageCount: 3, details: { model: "claude-x", provider: "anthropic" } },
    ]);
  });

  it("reports what is odd on stderr", async () => {
    const { err } = await quire("import", write("odd.json", [assistant("hello")]), "--format", "openai");
    expect(err).toContain(
      "1  conversations that the assistant opened, given a USER message (odd, message 1)",
    );
  });

  it("writes nothing with --dry-run, and needs no server", async () => {
    const file = write("dry.json", exchanges(2));
    const { code, out } = await runCli(
      "import",
      file,
      "--format",
      "openai",
      "--dry-run",
      "--json",
      "--address",
      "127.0.0.1:1",
    );
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      dryRun: true,
      sessions: [{ label: "dry", planned: 2 }],
      messages: 4,
    });
  });

  it.each([
    ["a file that is not there", "no-such.json", /cannot be read/],
    ["a file that is not JSON", write("bad.json", "hello"), /neither JSON nor JSON Lines/],
    ["a file without messages", write("empty.json", { messages: [] }), /no messages to import/],
  ])("fails for %s", async (_, file, reason) => {
    const { code, out, err } = await quire("import", file, "--format", "openai");
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(reason);
  });

  const airline = join(
    process.env.QUIRE_EVAL_DATA ?? join(packageRoot, "..", "shared", "data"),
    "tau-bench",
    "airline-dev.json",
  );
  it.skipIf(!existsSync(airline))(
    "imports every tau-bench trajectory (skipped without QUIRE_EVAL_DATA)",
    async () => {
      const { sessions, messages } = await summary(airline, "--format", "openai");
      expect(sessions).toHaveLength(100);
      expect(sessions.every(({ planned, written }) => planned === written)).toBe(true);
      expect(messages).toBe(2_658);
    },
  );
});
