import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectOneLine, serve } from "../support/refused-start.js";
import { spawnCli } from "../support/run-cli.js";

/** The built command, started with settings that it cannot use. */

const folder = mkdtempSync(join(tmpdir(), "quire-start-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const text = written("text.txt", "neither JSON nor a socket");
const missing = join(folder, "missing");
const inner = join(folder, "folder");
mkdirSync(inner);

const noFile = "no such file or directory";

describe.concurrent("a file that a setting names", () => {
  const wrongModels = written("models.json", '{ "models": { "mine": { "contextTokens": "many" } } }');
  const wrongKnobs = written("knobs.json", '{ "unset": 11 }');
  const wrongSettings = written("settings.json", '{ "keepTurns": 0 }');
  const wrongConfig = written("quire.json", '{ "listenn": "127.0.0.1:0" }');

  it.each([
    ["--catalogue-file", missing, noFile],
    ["--catalogue-file", text, "it is not JSON"],
    ["--catalogue-file", wrongModels, "models.mine.contextTokens"],
    ["--knob-table-file", missing, noFile],
    ["--knob-table-file", wrongKnobs, "unset: "],
    ["--context-settings-file", text, "it is not JSON"],
    ["--context-settings-file", wrongSettings, "keep_turns"],
    ["--config", missing, noFile],
    ["--config", inner, "directory"],
    ["--config", text, "it is not JSON"],
    ["--config", wrongConfig, '"listenn"'],
    ["--prime-file", inner, "it is not a file"],
    ["--prime-file", join(text, "prime.md"), "not a directory"],
    ["--templates-folder", missing, noFile],
    ["--templates-folder", text, "not a directory"],
  ])("%s %s is refused: %s", async (flag, path, why) => {
    const database = join(folder, `beside ${flag} ${path.replaceAll("/", "-")}.db`);
    const run = await spawnCli(...serve("--database", `file:${database}`, flag, path)).done;
    expectOneLine(run, 2, path, why, ...(why.includes("listenn") ? [] : [flag]));
    expect(existsSync(database)).toBe(false);
  });

  it("and that is no certificate is refused", async () => {
    const database = join(folder, "tls.db");
    const tls = ["--tls-certificate", text, "--tls-key", text];
    const run = await spawnCli(...serve("--database", `file:${database}`, ...tls)).done;
    expectOneLine(run, 2, `--tls-certificate ${text}`, `--tls-key ${text}`);
    expect(existsSync(database)).toBe(false);
  });

  it("and that has secrets in it is not quoted", async () => {
    const secrets = written("secrets.json", '{ "summarizerOpenaiKey": "sk-12345", oops');
    const run = await spawnCli(...serve("--config", secrets)).done;
    expectOneLine(run, 2, `--config ${secrets}`, "it is not JSON");
    expect(run.err).not.toContain("12345");
  });

  it("has one line each where several are wrong", async () => {
    const { code, out, err } = await spawnCli(...serve("--prime-file", inner, "--templates-folder", missing))
      .done;
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err.split("\n")).toEqual([
      "error: the configuration cannot be used:",
      `  - --prime-file ${inner} cannot be read: it is not a file`,
      `  - --templates-folder ${missing} cannot be read: ${noFile}`,
      "",
    ]);
  });
});

describe.concurrent("an address", () => {
  const other = createServer();
  const socket = join(folder, "other.sock");
  const onSocket = createServer();
  let taken = "";
  beforeAll(async () => {
    other.listen(0, "127.0.0.1");
    onSocket.listen(socket);
    await Promise.all([once(other, "listening"), once(onSocket, "listening")]);
    taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    other.close();
    onSocket.close();
  });

  const refusals: readonly (readonly [string, () => readonly string[], string])[] = [
    ["a port in use", () => [taken], "another process listens there"],
    ["the second of two", () => ["127.0.0.1:0", taken], "another process listens there"],
    ["one of another machine", () => ["192.0.2.1:50051"], "this machine has no such address"],
    ["a socket in use", () => [`unix:${socket}`], "another process listens there"],
    ["a socket where a file is", () => [`unix:${text}`], "is not a socket"],
    ["a socket in no folder", () => [`unix:${missing}/s`], `the folder ${missing} is not there`],
    ["a socket below a file", () => [`unix:${text}/s`], "not a directory"],
    ["a socket with a long name", () => [`unix:${folder}/${"s".repeat(120)}`], "bytes"],
  ];

  it.each(refusals)("that cannot be taken is said by name: %s", async (name, addresses, why) => {
    const listen = addresses();
    const flags = ["--listen", listen.join(","), "--allow-insecure", "true"];
    const database = join(folder, `${name}.db`);
    const run = await spawnCli("serve", ...flags, "--database", `file:${database}`, "--log-level", "error")
      .done;
    expectOneLine(run, 1, "--listen", `cannot listen on ${listen.at(-1)!}`, why);
    // It was closed in order.
    expect(existsSync(`${database}-wal`)).toBe(false);
    expect(readFileSync(text, "utf8")).toContain("neither");
  });

  it("that cannot be taken is one JSON document with --json", async () => {
    const flags = ["--listen", taken, "--json", "--log-level", "error"];
    const run = await spawnCli("serve", ...flags, "--database", `file:${join(folder, "json.db")}`).done;
    expect(run).toMatchObject({ code: 1, out: "" });
    expect(JSON.parse(run.err)).toEqual({ error: { message: expect.stringContaining(taken) } });
  });
});
