import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  CreateSessionRequest,
  RecordTurnRequest,
} from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { MessageRole } from "../../../src/contract/gen/quire/v1/message.js";
import { TurnStatus } from "../../../src/contract/gen/quire/v1/turn.js";
import { call, startTestServer, type TestServer } from "../../support/server.js";
import { jsonLines, runCli } from "../support/run-cli.js";

let server: TestServer;
const folder = mkdtempSync(join(tmpdir(), "quire-cli-"));

const quire = (...args: readonly string[]) => runCli(...args, "--address", server.address);

function write(name: string, value: unknown): string {
  const file = join(folder, name);
  writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
  return file;
}

const chat = [
  { role: "system", content: "S" },
  { role: "user", content: "where is it?" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: '{"in":"box"}' } }],
  },
  { role: "tool", tool_call_id: "c1", content: "nothing there\u001b[31m" },
  { role: "assistant", content: "not in the box" },
  { role: "user", content: "thanks" },
];

beforeAll(async () => {
  server = await startTestServer();
  const made = await quire("import", write("lost.json", chat), "--format", "openai");
  expect(made).toMatchObject({ code: 0 });
});

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("quire sessions", () => {
  it("shows a table, and with --json a line for each session", async () => {
    const table = await quire("sessions");
    expect(table.out).toMatch(/^LABEL +TURNS +HEAD +UPDATED +AGENT +TASK$/m);
    expect(table.out).toMatch(/^lost +2 +[0-9a-f-]{36} +\d{4}-/m);
    const [line] = jsonLines((await quire("sessions", "--json", "--prefix", "lo")).out);
    expect(line).toMatchObject({
      label: "lost",
      depth: 2,
      metadata: { "import.format": "openai", "import.file": "lost.json" },
    });
  });

  it("keeps those with some metadata: a value, a beginning, or any value", async () => {
    const labels = async (...filters: readonly string[]) => {
      const flags = filters.flatMap((filter) => ["--metadata", filter]);
      return jsonLines<{ label: string }>((await quire("sessions", "--json", ...flags)).out).map(
        ({ label }) => label,
      );
    };
    expect(await labels("import.file=lost.json", "import.format")).toEqual(["lost"]);
    expect(await labels("import.file=lost*")).toEqual(["lost"]);
    expect(await labels("import.file=lost")).toEqual([]);
    const wrong = await quire("sessions", "--metadata", "=x");
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.err).toContain("A key comes first");
  });

  it("shows who a sub-agent is, and what it is to do", async () => {
    const request = CreateSessionRequest.fromPartial({
      label: "spawned",
      subAgent: { parentSessionId: "lost", task: "Look again." },
      defaults: { capsule: "finder", scope: { capabilities: ["boxes", "bags"] } },
    });
    await call(server.ledger, server.ledger.createSession, request);
    const { out } = await quire("sessions", "--prefix", "spawned");
    expect(out).toMatch(/ finder, worker \(boxes, bags\) +pending: Look again\.$/m);
    const [line] = jsonLines((await quire("sessions", "--json", "--prefix", "spawned")).out);
    expect(line).toMatchObject({ defaults: { capsule: "finder", role: "AGENT_ROLE_WORKER" } });
    await call(server.ledger, server.ledger.deleteSession, {
      requestId: "",
      session: "spawned",
      cascade: false,
    });
  });

  it("lists as many as asked for, and says when there are more", async () => {
    await quire("import", write("two.json", [{ messages: chat }, { messages: chat }]), "--format", "openai");
    const all = jsonLines<{ label: string }>((await quire("sessions", "--json")).out).map(
      ({ label }) => label,
    );
    expect(all.slice(0, 3).sort()).toEqual(["lost", "two/1", "two/2"]);
    const one = await quire("sessions", "--limit", "1");
    expect(one.err).toContain("there are more");
    expect(one.out.trim().split("\n")).toHaveLength(2);
    expect((await quire("sessions", "--prefix", "none-such")).err).toContain("there are no sessions");
  });
});

describe("quire turns", () => {
  it("shows the newest first", async () => {
    const { out } = await quire("turns", "lost");
    expect(out).toMatch(/^ID +STATUS +DEPTH +MESSAGES +TOKENS +MODEL +TIME$/m);
    const depths = out
      .trim()
      .split("\n")
      .slice(1)
      .map((line) => /completed +(\d)/.exec(line)?.[1]);
    expect(depths).toEqual(["2", "1"]);
    const lines = jsonLines((await quire("turns", "lost", "--json", "--limit", "1")).out);
    expect(lines).toMatchObject([{ depth: 2, status: "TURN_STATUS_COMPLETED", messageCount: 1 }]);
  });

  it("prints what was said, without what a terminal would obey", async () => {
    const { out } = await quire("turns", "lost", "--messages");
    expect(out).toContain('-> look({"in":"box"}) [c1]');
    expect(out).toContain("<- [c1] nothing there\uFFFD[31m");
    expect(out.indexOf("thanks")).toBeGreaterThan(out.indexOf("where is it?"));
    const [, newest] = jsonLines<{ messages: object[] }>(
      (await quire("turns", "lost", "--messages", "--json")).out,
    );
    expect(newest?.messages).toMatchObject([
      { role: "MESSAGE_ROLE_USER", parts: [{ text: { text: "thanks" } }] },
    ]);
  });

  it("lists failed turns with --all only", async () => {
    await quire("import", write("failing.json", chat), "--format", "openai");
    const [head] = jsonLines<{ id: string }>((await quire("turns", "failing", "--json")).out);
    const request = RecordTurnRequest.fromPartial({
      session: "failing",
      parentTurnId: head?.id ?? "",
      status: TurnStatus.FAILED,
      messages: [{ role: MessageRole.USER, parts: [{ content: { $case: "text", value: { text: "b" } } }] }],
    });
    await new Promise((resolve) => server.ledger.recordTurn(request, resolve));
    expect(jsonLines((await quire("turns", "failing", "--json")).out)).toHaveLength(2);
    expect(jsonLines((await quire("turns", "failing", "--json", "--all")).out)).toHaveLength(3);
  });

  it("says reason and metadata of an error on stderr, and nothing on stdout", async () => {
    const plain = await quire("turns", "nobody");
    expect(plain).toMatchObject({ code: 1, out: "" });
    expect(plain.err).toContain("reason: SESSION_NOT_FOUND");
    expect(plain.err).toContain("session: nobody");
    const json = await quire("turns", "nobody", "--json");
    expect(jsonLines(json.err)).toMatchObject([
      { error: { code: "NOT_FOUND", reason: "SESSION_NOT_FOUND", metadata: { session: "nobody" } } },
    ]);
  });

  it("names the field that is wrong", async () => {
    const { err } = await quire("turns", "x".repeat(300));
    expect(err).toContain("reason: INVALID_FIELD");
    expect(err).toContain("field: session: has more than 256 characters");
  });
});

describe("an address that is a socket", () => {
  it("works as one with a port does", async () => {
    const socket = `unix:${join(folder, "q.sock")}`;
    const local = await startTestServer({ listen: socket });
    expect(
      await runCli("import", write("u.json", chat), "--format", "openai", "--address", socket),
    ).toMatchObject({ code: 0 });
    expect(jsonLines((await runCli("sessions", "--json", "--address", socket)).out)).toMatchObject([
      { label: "u" },
    ]);
    await local.stop();
  });
});

describe("quire export", () => {
  it("writes quire-jsonl that becomes the same thread again", async () => {
    const first = join(folder, "first.jsonl");
    expect(await quire("export", "lost", "--output", first)).toMatchObject({ code: 0, out: "" });
    expect(await quire("import", first, "--format", "quire-jsonl", "--session", "again")).toMatchObject({
      code: 0,
    });
    const second = jsonLines((await quire("export", "again")).out);
    const content = (lines: readonly Record<string, unknown>[]) =>
      lines.map(({ turn, message }) => {
        if (message) return { ...(message as object), id: "", turnId: "", createTime: "" };
        return turn && { ...(turn as object), ...serverSet };
      });
    expect(content(second).slice(1)).toEqual(content(jsonLines(readFileSync(first, "utf8"))).slice(1));
    expect(second[0]).toMatchObject({
      session: { label: "again", metadata: { "import.file": "lost.json" } },
    });
  });

  it("writes openai messages to stdout, and reports on stderr", async () => {
    const { out, err, code } = await quire("export", "lost", "--format", "openai");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual(chat);
    expect(err).toBe("");
  });

  it("says with --json what it wrote to a file", async () => {
    const file = join(folder, "lost.anthropic.json");
    const { out } = await quire("export", "lost", "--format", "anthropic", "--output", file, "--json");
    expect(JSON.parse(out)).toEqual({ file, format: "anthropic", turns: 2, findings: [] });
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ system: [{ text: "S" }] });
  });

  it("leaves no half a file behind", async () => {
    const missing = join(folder, "no-such-folder", "x.json");
    expect(await quire("export", "lost", "--output", missing)).toMatchObject({ code: 1 });
  });
});

const serverSet = {
  id: "",
  sessionId: "",
  parentTurnId: "",
  contentHash: "",
  chainHash: "",
  createTime: "",
  completeTime: "",
};
