import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/server.js";
import { tempFolder } from "../../support/temp-folder.js";
import { jsonLines, runCli, runCliOnScreen, spawnCli } from "../support/run-cli.js";
import { seedAgent } from "../support/seed-agent.js";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  await seedAgent(server, "helper", 2);
});

afterAll(() => server?.stop());

const at = () => ["--address", server.address] as const;
const formats = ["anthropic", "openai-responses", "openai-chat", "gemini"] as const;
/** Models that the formats' APIs serve, where it is not the agent's own. */
const models: Readonly<Record<string, string>> = {
  anthropic: "claude-opus-5",
  gemini: "gemini-3.1-pro-preview",
};

function rendering(...args: readonly string[]): readonly string[] {
  const model = args.map((arg) => models[arg]).find((name) => name !== undefined);
  const named = model === undefined ? [] : ["--model", model];
  return ["assemble", "helper", "--capsule", "helper", "--message", "hello", ...named, ...args, ...at()];
}

function fileOf(content: string): string {
  const file = join(tempFolder(), "body.json");
  writeFileSync(file, content);
  return file;
}

describe("quire assemble --render", () => {
  it.each(
    formats,
  )("writes only the body of %s for another program, which its provider takes", async (format) => {
    const { code, out, err } = await runCli(...rendering("--render", format));
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(out)).toBeTypeOf("object");
    const validated = await runCli("validate", format, fileOf(out), ...at());
    expect(validated).toMatchObject({
      code: 0,
      out: `fine: ${out.length.toLocaleString("en-US")} bytes that ${format} takes\n`,
    });
  });

  it("writes the same with --json and to a file that is -, and nothing more", async () => {
    const bodies = [
      await runCli(...rendering("--render", "openai-chat", "--json")),
      await runCliOnScreen(...rendering("--render", "openai-chat", "--json")),
      await runCliOnScreen(...rendering("--render", "openai-chat", "--body", "-")),
    ].map(({ out }) => JSON.parse(out) as { readonly messages: readonly { readonly role: string }[] });
    for (const { messages } of bodies) {
      const roles = ["user", "assistant", "tool", "assistant"];
      expect(messages.map(({ role }) => role)).toEqual(["system", ...roles, ...roles, "user"]);
    }
  });

  it("shows people the size, the hash and the body between the message and the budget", async () => {
    const { out } = await runCliOnScreen(...rendering("--render", "anthropic"));
    const text = stripVTControlCharacters(out);
    const [, size, hash] = /^rendered +anthropic, ([\d,]+) bytes\n +SHA-256 ([0-9a-f]{64})$/m.exec(text)!;
    const json = text.slice(text.indexOf("\n{\n") + 1, text.indexOf("\n}\n") + 2);
    const bytes = Buffer.from(JSON.stringify(JSON.parse(json)));
    expect(bytes.length.toLocaleString("en-US")).toBe(size);
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(hash);
    expect(text.indexOf("current  ")).toBeLessThan(text.indexOf("rendered  "));
    expect(text.indexOf("rendered  ")).toBeLessThan(text.indexOf("completed  "));
  });

  it("writes the exact bytes to a file, beside the layers", async () => {
    const file = join(tempFolder(), "body.json");
    const { out } = await runCli(...rendering("--render", "gemini", "--body", file));
    const hash = /SHA-256 ([0-9a-f]{64})$/m.exec(out)![1];
    expect(createHash("sha256").update(readFileSync(file)).digest("hex")).toBe(hash);
    expect(out).toMatch(/^completed /m);
    expect(out).not.toContain('"contents"');
    const events = jsonLines(
      (await runCli(...rendering("--render", "gemini", "--body", file, "--json"))).out,
    );
    expect(events.map((event) => Object.keys(event).join())).toContain("rendered");
  });

  it("fails with 2 for an unknown format or a body that is not asked for, with 1 for a file that cannot be written", async () => {
    expect(await runCli(...rendering("--render", "cohere"))).toMatchObject({ code: 2 });
    expect(await runCli(...rendering("--body", "body.json"))).toMatchObject({
      code: 2,
      err: expect.stringContaining("there is no body without --render"),
    });
    const file = join(tempFolder(), "none", "body.json");
    expect(await runCli(...rendering("--render", "gemini", "--body", file))).toMatchObject({
      code: 1,
      err: expect.stringContaining("cannot be written"),
    });
  });
});

describe("quire validate", () => {
  const bad = JSON.stringify({ model: "claude-opus-5-5", max_tokens: 10, messages: [] });

  it("lists the rules that a body breaks, where, and what is wrong, and fails with 1", async () => {
    const { code, out, err } = await runCli("validate", "anthropic", fileOf(bad), ...at());
    expect(code).toBe(1);
    expect(out).toMatch(/^RULE +PATH +MESSAGE$/m);
    expect(out).toMatch(/^messages_\w+ +messages +\S/m);
    expect(err).toMatch(/^error: the body breaks 1 rule$/m);
  });

  it("takes the body from stdin, and gives JSON with --json", async () => {
    const cli = spawnCli("validate", "anthropic", "--json", ...at());
    cli.child.stdin.end(bad);
    const { code, out } = await cli.done;
    expect(code).toBe(1);
    const [answer] = jsonLines<{ ok: boolean; problems: readonly { rule: string }[] }>(out);
    expect(answer).toMatchObject({ ok: false, format: "anthropic", problems: [{ path: "messages" }] });
    const fine = (await runCli(...rendering("--render", "anthropic"))).out;
    const good = await runCli("validate", "anthropic", fileOf(fine), "--json", ...at());
    expect(good).toMatchObject({ code: 0, out: '{"ok":true,"format":"anthropic","problems":[]}\n' });
  });

  it("says of a text that is no JSON that it is none", async () => {
    const { code, out } = await runCli("validate", "gemini", fileOf("{"), ...at());
    expect(code).toBe(1);
    expect(out).toMatch(/^body_json +- +must be valid JSON/m);
  });

  it("fails with 2 for an unknown format, with 1 for a file that is not there or is empty", async () => {
    expect(await runCli("validate", "cohere", fileOf("{}"), ...at())).toMatchObject({ code: 2 });
    const none = await runCli("validate", "gemini", join(tempFolder(), "none.json"), ...at());
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining("cannot be read") });
    const empty = await runCli("validate", "gemini", fileOf(""), ...at());
    expect(empty).toMatchObject({ code: 1, err: expect.stringContaining("field: body: is required") });
  });
});
