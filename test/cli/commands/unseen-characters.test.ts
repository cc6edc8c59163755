import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  CreateSessionRequest,
  RecordTurnRequest,
} from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { assistant, user } from "../../support/messages.js";
import { call, startTestServer, type TestServer } from "../../support/server.js";
import { runCli, runCliOnScreen } from "../support/run-cli.js";

/** What a terminal obeys, or what turns text around; C0 is escaped in every JSON. */
const unseen = [0x7f, 0x85, 0x9b, 0x9d, 0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e]
  .concat([0x2066, 0x2067, 0x2068, 0x2069])
  .map((code) => String.fromCharCode(code));
const hostile = `a${unseen.join("b")}c`;
// A name holds no control character; those that turn text around it may.
const label = `label ${hostile.replace(/\p{Cc}/gu, "")}`;
const obeyed = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

let server: TestServer;
const folder = mkdtempSync(join(tmpdir(), "quire-cli-"));
const onScreen = (...args: readonly string[]) => runCliOnScreen(...args, "--address", server.address);
const piped = (...args: readonly string[]) => runCli(...args, "--address", server.address);

beforeAll(async () => {
  server = await startTestServer();
  const { ledger } = server;
  const metadata = { note: hostile };
  await call(ledger, ledger.createSession, CreateSessionRequest.fromPartial({ label, metadata }));
  await call(ledger, ledger.createSession, CreateSessionRequest.fromPartial({ label: "plain" }));
  const messages = [user(hostile), assistant(hostile)];
  const details = { model: `model ${label}` };
  for (const session of [label, "plain"]) {
    await call(ledger, ledger.recordTurn, RecordTurnRequest.fromPartial({ session, messages, details }));
  }
  const file = join(folder, "capsule.json");
  writeFileSync(
    file,
    JSON.stringify({ persona: { corePrompt: `You are ${hostile}.`, model: { model: "gpt-4o" } } }),
  );
  expect(await piped("capsule", "put", label, file)).toMatchObject({ code: 0 });
  expect(await piped("capsule", "put", "plain", file)).toMatchObject({ code: 0 });
});

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const assembling = ["assemble", "plain", "--capsule", "plain", "--message", hostile];
const commands = (): readonly (readonly string[])[] => [
  ["sessions"],
  ["turns", "plain"],
  ["turns", "plain", "--messages"],
  ["turns", label],
  ["capsule", "list"],
  ["capsule", "show", "plain"],
  ["capsule", "show", label],
  assembling,
  [...assembling, "--show", "system,history,current"],
  [...assembling, "--render", "openai-chat"],
  ["cache", "plain"],
];

describe("what a terminal would obey", () => {
  it("is never sent to one, nor turns what is read around", async () => {
    for (const args of commands()) {
      const { code, out, err } = await onScreen(...args);
      expect([args, code, err]).toEqual([args, 0, args[1] === "show" ? err : ""]);
      expect([args, obeyed.exec(out + err)?.index]).toEqual([args, undefined]);
    }
  });

  it("is in errors only as what can be seen, also as JSON", async () => {
    for (const json of [[], ["--json"]]) {
      const { code, err } = await onScreen("turns", `no ${label}`, ...json);
      expect(code).not.toBe(0);
      expect(err).not.toMatch(obeyed);
      expect(err).toContain("SESSION_NOT_FOUND");
    }
  });

  it("is in JSON on a screen as escapes: the same JSON as in a pipe, where not a byte is changed", async () => {
    const asked = [
      ["sessions", "--json"],
      ["turns", "plain", "--messages", "--json"],
      ["capsule", "show", "plain", "--json"],
      ["capsule", "show", "plain"],
    ];
    for (const args of asked) {
      const shown = await onScreen(...args);
      const whole = await piped(...args);
      expect(shown.out).not.toMatch(obeyed);
      for (const character of unseen) expect(whole.out).toContain(character);
      const values = ({ out }: { readonly out: string }) =>
        args.includes("--json")
          ? out
              .trim()
              .split("\n")
              .map((line) => JSON.parse(line))
          : JSON.parse(out);
      expect(values(shown)).toEqual(values(whole));
    }
  });

  it.each(["quire-jsonl", "openai", "anthropic"])("is in an export as %s alike", async (format) => {
    const args = ["export", "plain", "--format", format];
    const shown = await onScreen(...args);
    const whole = await piped(...args);
    const file = join(folder, `${format}.json`);
    await onScreen(...args, "--output", file);
    expect(shown.out).not.toMatch(obeyed);
    for (const character of unseen) expect(whole.out).toContain(character);
    expect(readFileSync(file, "utf8")).toBe(whole.out);
    const values = (text: string) =>
      format === "quire-jsonl"
        ? text
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line))
        : JSON.parse(text);
    expect(values(shown.out)).toEqual(values(whole.out));
  });

  it("is in a body on a screen as escapes, and in a pipe as it is sent", async () => {
    const args = [...assembling, "--render", "openai-chat", "--body", "-"];
    const shown = await onScreen(...args);
    const whole = await piped(...args);
    expect(shown.code).toBe(0);
    expect(shown.out).not.toMatch(obeyed);
    for (const character of unseen) expect(whole.out).toContain(character);
    expect(JSON.parse(shown.out)).toMatchObject({
      model: (JSON.parse(whole.out) as { model: string }).model,
    });
  });

  it("keeps the colours of a screen", async () => {
    expect((await onScreen(...assembling)).out).toContain("\u001b[");
  });
});
