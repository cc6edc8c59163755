import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { credentials } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  CompactRequest,
  CreateSessionRequest,
  LedgerServiceClient,
  RecordTurnRequest,
  type RecordTurnResponse,
} from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { gate } from "../../support/gate.js";
import { assistant, user } from "../../support/messages.js";
import { startModelServer } from "../../support/model-server.js";
import { call, startTestServer, type TestServer } from "../../support/server.js";
import { jsonLines, spawnCli } from "../support/run-cli.js";

/** The built command as a process of its own: exit codes, streams, signals. */

const folder = mkdtempSync(join(tmpdir(), "quire-process-"));
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const run = (...args: readonly string[]) => spawnCli(...args).done;
const onServer = (...args: readonly string[]) => run(...args, "--address", server.address);

async function served(...args: readonly string[]) {
  const database = `file:${join(folder, `${Math.random()}.db`)}`;
  const cli = spawnCli(
    "serve",
    "--listen",
    "127.0.0.1:0",
    "--database",
    database,
    "--log-level",
    "error",
    ...args,
  );
  await cli.said(/(listens on|addresses).*\n/);
  return cli;
}

describe("exit codes", () => {
  it("is 0 for help, which has examples, and 2 for wrong usage", async () => {
    const [help, serveHelp, noCommand, noFormat, badFormat, badFlag, badNumber] = await Promise.all([
      run("--help"),
      run("serve", "--help"),
      run("no-such-command"),
      run("import", "x.json"),
      run("import", "x.json", "--format", "csv"),
      run("sessions", "--no-such-flag"),
      run("sessions", "--limit", "0"),
    ]);
    expect(help.code).toBe(0);
    expect(help.out).toContain("Examples:");
    expect(serveHelp.out).toContain("--max-request-bytes");
    expect(serveHelp.out).toContain("QUIRE_LISTEN");
    for (const wrong of [noCommand, noFormat, badFormat, badFlag, badNumber]) {
      expect({ code: wrong.code, out: wrong.out }).toEqual({ code: 2, out: "" });
      expect(wrong.err).toMatch(/^error: /);
    }
    expect(badFormat.err).toContain("openai, anthropic, pi-jsonl, claude-code-jsonl, swe-agent, quire-jsonl");
  });

  it("is 2 for settings that cannot be used, each with what is wrong", async () => {
    const { code, out, err } = await run("serve", "--listen", "nowhere", "--database-pool-size", "1");
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain("--listen must be host:port");
    expect(err).toContain("--database-pool-size must be at least 2");
    expect(await run("sessions", "--address", "nowhere")).toMatchObject({ code: 2 });
  });

  it("is 1 when no server answers, with how to start one", async () => {
    const { code, out, err } = await run("sessions", "--address", "127.0.0.1:1");
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain("no Quire server answers at 127.0.0.1:1");
    expect(err).toContain("npm start");
  });
});

describe("the commands as processes", () => {
  it("import, list, read and export a conversation", async () => {
    const file = join(folder, "chat.json");
    writeFileSync(
      file,
      JSON.stringify([
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
      ]),
    );
    expect(await onServer("import", file, "--format", "openai")).toMatchObject({ code: 0 });
    const [sessions, turns, exported, missing] = await Promise.all([
      onServer("sessions", "--json"),
      onServer("turns", "chat", "--messages"),
      onServer("export", "chat", "--format", "openai"),
      onServer("export", "nobody"),
    ]);
    expect(jsonLines(sessions.out)).toMatchObject([{ label: "chat", depth: 1 }]);
    expect(turns.out).toContain("assistant\n  b");
    expect(JSON.parse(exported.out)).toEqual(
      JSON.parse('[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]'),
    );
    expect(missing).toMatchObject({ code: 1, out: "" });
  });

  it("backup copies a database in use into one that can be served", async () => {
    const copy = join(folder, "copy.db");
    const { code, out } = await run("backup", copy, "--database", server.config.database, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ file: copy });
    const cli = await served("--database", `file:${copy}`, "--json");
    const [{ addresses } = { addresses: [] }] = jsonLines<{ addresses: string[] }>(cli.output().out);
    const { out: listed } = await run("sessions", "--json", "--address", addresses[0] ?? "");
    expect(jsonLines(listed)).toMatchObject([{ label: "chat" }]);
    cli.child.kill("SIGTERM");
    expect(await cli.done).toMatchObject({ code: 0 });
  });

  it("backup names pg_dump for PostgreSQL, and says when there is no database", async () => {
    const [postgres, missing] = await Promise.all([
      run("backup", join(folder, "x.db"), "--database", "postgresql://u:secret@db/quire"),
      run("backup", join(folder, "x.db"), "--database", `file:${join(folder, "none.db")}`),
    ]);
    expect(postgres.code).toBe(1);
    expect(postgres.err).toContain("pg_dump");
    expect(postgres.err).not.toContain("secret");
    expect(missing).toMatchObject({ code: 1 });
    expect(missing.err).toContain("there is no database");
  });
});

describe("quire serve", () => {
  it("says where it listens and how to call it, and stops on a signal", async () => {
    const cli = await served();
    cli.child.kill("SIGINT");
    const { err, code } = await cli.done;
    expect(code).toBe(0);
    expect(err).toMatch(/quire listens on 127\.0\.0\.1:\d+ \(file:.*\); Ctrl-C stops it/);
    expect(err).toMatch(
      /buf curl --protocol grpc --http2-prior-knowledge http:\/\/127\.0\.0\.1:\d+\/quire\.v1/,
    );
  });

  it("stops at once at a second signal, while a call still runs", async () => {
    const asked = gate();
    const model = await startModelServer(() => {
      asked.open();
      return { hang: "before headers" };
    });
    onTestFinished(() => model.close());
    const summarizer = ["--summarizer-openai-url", model.baseUrl("openai"), "--summarizer-openai-model", "m"];
    const cli = await served("--json", "--shutdown-grace-ms", "600000", ...summarizer);
    const [{ addresses } = { addresses: [] }] = jsonLines<{ addresses: string[] }>(cli.output().out);
    const { isOpen } = await startSummary(addresses[0] ?? "");
    await asked.passed;
    cli.child.kill("SIGINT");
    await cli.said(/stopping/);
    expect(isOpen()).toBe(true);
    cli.child.kill("SIGINT");
    expect(await cli.done).toMatchObject({ code: 1 });
  });

  it("prints one JSON document on stdout with --json, and logs on stderr", async () => {
    const cli = await served("--json", "--log-level", "info");
    cli.child.kill("SIGTERM");
    const { out, err, code } = await cli.done;
    expect(code).toBe(0);
    expect(jsonLines(out)).toMatchObject([{ addresses: [expect.stringMatching(/^127/)] }]);
    expect(err).toContain('"msg":"stopped"');
  });
});

describe("quire doctor", () => {
  const status = (out: string, name: string) =>
    (JSON.parse(out) as { checks: { name: string; status: string; hint: string }[] }).checks.find((check) =>
      check.name.startsWith(name),
    );

  it("finds a running server, and is content", async () => {
    const { code, out } = await run(
      "doctor",
      "--json",
      "--address",
      server.address,
      "--database",
      server.config.database,
    );
    expect(code).toBe(0);
    expect(status(out, "Server")).toMatchObject({ status: "ok", found: "a Quire server answers" });
    for (const name of ["Node", "Build", "SQLite", "SQLite FTS5", "SQLite WAL", "Data folder", "Database"]) {
      expect(status(out, name)?.status).toMatch(/ok|warn/);
    }
  });

  it("fails with 1 and a hint for each thing that is wrong", async () => {
    const other = createServer((socket) => socket.end("not here\n")).listen(0, "127.0.0.1");
    await once(other, "listening");
    const port = (other.address() as { port: number }).port;
    const [taken, noDatabase, badConfig] = await Promise.all([
      run("doctor", "--listen", `127.0.0.1:${port}`, "--database", `file:${join(folder, "d.db")}`),
      run("doctor", "--json", "--listen", "127.0.0.1:0", "--database", "postgresql://quire@127.0.0.1:1/none"),
      run("doctor", "--json", "--listen", "127.0.0.1:0", "--watch-poll-ms", "1"),
    ]);
    other.close();
    expect(taken.code).toBe(1);
    expect(taken.out).toMatch(
      /fail +Address 127.* taken by something that does not answer as Quire +stop it/,
    );
    expect(status(noDatabase.out, "PostgreSQL")).toMatchObject({ status: "fail" });
    expect(noDatabase.code).toBe(1);
    expect(status(badConfig.out, "Configuration")).toMatchObject({ status: "fail" });
  });
});

/** A call for a summary, which lasts as long as its model does. */
async function startSummary(address: string): Promise<{ isOpen(): boolean }> {
  const client = new LedgerServiceClient(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  await call(client, client.createSession, CreateSessionRequest.fromPartial({ label: "long" }));
  for (let parentTurnId = "", left = 4; left > 0; left--) {
    const messages = [user("Where is it? ".repeat(50)), assistant("It is on its way. ".repeat(50))];
    const request = RecordTurnRequest.fromPartial({ session: "long", parentTurnId, messages });
    const { turn } = await call<RecordTurnRequest, RecordTurnResponse>(client, client.recordTurn, request);
    parentTurnId = turn!.id;
  }
  const request = CompactRequest.fromPartial({
    session: "long",
    summarizers: { names: ["openai"] },
    keepTurns: 1,
  });
  let isOpen = true;
  client.compact(request, () => {
    isOpen = false;
  });
  return { isOpen: () => isOpen };
}
