import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createProgram } from "../../../src/cli/program.js";
import { rounded } from "../../../src/cli/terminal/printable.js";
import { startTestServer, type TestServer } from "../../support/server.js";
import { jsonLines, runCli } from "../support/run-cli.js";

let server: TestServer;
const folder = mkdtempSync(join(tmpdir(), "quire-cli-"));
const quire = (...args: readonly string[]) => runCli(...args, "--address", server.address);

const chat = ["one", "two", "three"].flatMap((word) => [
  { role: "user", content: `ask ${word}` },
  { role: "assistant", content: `answer ${word}` },
]);

beforeAll(async () => {
  server = await startTestServer();
  const file = join(folder, "chat.json");
  writeFileSync(file, JSON.stringify(chat));
  expect(await quire("import", file, "--format", "openai", "--session", "talk")).toMatchObject({ code: 0 });
});

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** An address where nobody listens: it was free a moment ago. */
async function freeAddress(): Promise<string> {
  const listener = createServer();
  await new Promise<void>((done) => listener.listen(0, "127.0.0.1", done));
  const { port } = listener.address() as { port: number };
  await new Promise((done) => listener.close(done));
  return `127.0.0.1:${port}`;
}

describe("an address where no server is", () => {
  it("is what demo says, in one sentence, instead of a demo elsewhere", async () => {
    const address = await freeAddress();
    const { code, out, err } = await runCli("demo", "--address", address);
    expect([code, out]).toEqual([1, ""]);
    expect(err.split("\n")[0]).toBe(`error: no Quire server answers at ${address}`);
  });

  it("is what doctor finds, and a reason to fail", async () => {
    const address = await freeAddress();
    const { code, out } = await runCli("doctor", "--address", address, "--json");
    expect(code).toBe(1);
    const { checks } = JSON.parse(out) as { checks: { name: string; status: string; found: string }[] };
    expect(checks.find(({ name }) => name === `Server ${address}`)).toMatchObject({
      status: "fail",
      found: "no Quire server answers there",
    });
  });
});

describe("quire turns --messages", () => {
  it("reads from the beginning; --limit takes the newest, and says that there are earlier ones", async () => {
    const { out } = await quire("turns", "talk", "--messages");
    const said = [...out.matchAll(/(ask|answer) (\w+)/g)].map(([text]) => text);
    expect(said).toEqual(["ask one", "answer one", "ask two", "answer two", "ask three", "answer three"]);
    const newest = await quire("turns", "talk", "--messages", "--limit", "2");
    expect([...newest.out.matchAll(/ask (\w+)/g)].map(([, word]) => word)).toEqual(["two", "three"]);
    expect(newest.err).toContain("there are earlier ones: --limit <n>");
    const lines = jsonLines<{ turn: { depth: number } }>(
      (await quire("turns", "talk", "--messages", "--json")).out,
    );
    expect(lines.map(({ turn }) => turn.depth)).toEqual([1, 2, 3]);
  });
});

describe("quire fork and delete", () => {
  it("fork at the head, at a turn, and before one", async () => {
    const turns = jsonLines<{ id: string }>((await quire("turns", "talk", "--json")).out);
    const whole = await quire("fork", "talk", "--label", "again");
    expect(whole).toMatchObject({ code: 0, out: "session again: forked from talk, with 3 turns\n" });
    const [at] = jsonLines(
      (await quire("fork", "talk", "--label", "at", "--at", turns[1]!.id, "--json")).out,
    );
    expect(at).toMatchObject({ label: "at", depth: 2 });
    const [before] = jsonLines((await quire("fork", "talk", "--before", turns[0]!.id, "--json")).out);
    expect(before).toMatchObject({ depth: 2 });
    const both = await quire("fork", "talk", "--at", turns[0]!.id, "--before", turns[0]!.id);
    expect([both.code, both.err]).toEqual([2, expect.stringContaining("cannot be used with")]);
    expect(await quire("fork", "talk", "--label", "again")).toMatchObject({ code: 1 });
  });

  it("delete says what was erased, and what stays because others reach it", async () => {
    await quire("fork", "talk", "--label", "short-lived");
    expect(await quire("delete", "short-lived")).toMatchObject({
      code: 0,
      out: "session short-lived: erased, with 0 turns; 3 turns kept, which other sessions reach\n",
    });
    const [gone] = jsonLines((await quire("delete", "again", "--cascade", "--json")).out);
    expect(gone).toMatchObject({ erasedTurns: 0, keptTurns: 3 });
    expect(await quire("delete", "again")).toMatchObject({ code: 1 });
  });
});

describe("quire validate", () => {
  it("needs no server, and says the same as one", async () => {
    const body = { model: "claude-opus-5-5", max_tokens: 10, messages: [{ role: "user", content: "" }] };
    const file = join(folder, "body.json");
    writeFileSync(file, JSON.stringify(body));
    const [offline, asked] = [
      await runCli("validate", "anthropic", file),
      await quire("validate", "anthropic", file),
    ];
    expect(offline).toEqual(asked);
    expect(offline.code).toBe(1);
    writeFileSync(file, JSON.stringify({ ...body, messages: [{ role: "user", content: "hi" }] }));
    expect(await runCli("validate", "anthropic", file)).toMatchObject({ code: 0 });
  });
});

describe("figures in tables", () => {
  it.each([
    [0, "0"],
    [999, "999"],
    [9_876, "9,876"],
    [12_345, "12.3k"],
    [999_499, "999k"],
    [999_999, "1M"],
    [1_050_000, "1.05M"],
    [2_500_000_000, "2.5G"],
  ])("have three digits where there are many: %d is %s", (value, shown) => {
    expect(rounded(value)).toBe(shown);
  });

  it("are exact with --json", async () => {
    const text = "word ".repeat(20_000);
    const file = join(folder, "long.json");
    writeFileSync(file, JSON.stringify([{ role: "user", content: text }]));
    await quire("import", file, "--format", "openai", "--session", "long");
    const [turn] = jsonLines<{ o200kTokens: string }>((await quire("turns", "long", "--json")).out);
    expect(Number(turn!.o200kTokens)).toBeGreaterThan(20_000);
    expect((await quire("turns", "long")).out).toMatch(/ 20k /);
  });
});

describe("the names of summarizers", () => {
  it("are checked, and the refusal lists them", async () => {
    const { code, err } = await quire("compact", "talk", "--summarizer", "extractve");
    expect(code).toBe(1);
    expect(err).toContain("is no summarizer: there are extractive, openai, anthropic, engine");
  });
});

describe("quire completion", () => {
  const complete = (script: string, ...words: readonly string[]) =>
    execFileSync("bash", [
      "-c",
      `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _quire; echo "\${COMPREPLY[@]}"`,
      "bash",
      ...words,
    ])
      .toString()
      .trim()
      .split(" ");

  it("in bash: commands, commands below them, choices and flags", async () => {
    const { out: script } = await runCli("completion", "bash");
    const sink = { stdout: process.stdout, stderr: process.stderr, interactive: false };
    const names = createProgram(sink as never).commands.map((command) => command.name());
    expect(complete(script, "quire", "")).toEqual(expect.arrayContaining(names));
    expect(complete(script, "quire", "mem")).toEqual(["memory"]);
    expect(complete(script, "quire", "memory", "s")).toEqual(
      expect.arrayContaining(["show", "set", "share"]),
    );
    expect(complete(script, "quire", "validate", "openai")).toEqual(["openai-responses", "openai-chat"]);
    expect(complete(script, "quire", "turns", "talk", "--mess")).toEqual(["--messages"]);
  });

  it.each(["zsh", "fish"])("in %s: a script that knows every command", async (shell) => {
    const { code, out } = await runCli("completion", shell);
    expect(code).toBe(0);
    for (const words of ["quire memory show", "--messages", "openai-responses"]) expect(out).toContain(words);
  });

  it("of another shell is refused with those that there are", async () => {
    const { code, err } = await runCli("completion", "tcsh");
    expect([code, err]).toEqual([2, expect.stringContaining("bash, zsh, fish")]);
  });
});
