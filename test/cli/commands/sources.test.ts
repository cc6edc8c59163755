import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/server.js";
import { tempFolder } from "../../support/temp-folder.js";
import { runCli } from "../support/run-cli.js";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server?.stop());

const sources = (...args: readonly string[]) => runCli("sources", ...args, "--address", server.address);

function file(content: unknown): string {
  const path = join(tempFolder(), "known.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const known = {
  items: [
    { rule: { text: "Verify prices" } },
    { fact: { entity: "gold", text: "a metal" } },
    { procedure: { title: "Deploy", steps: "1. Test." } },
  ],
  observations: [
    { kind: "SERIES_KIND_VALUE", name: "BTC", value: 2, unit: "$", observeTime: "2026-01-15T09:00:00Z" },
    { kind: "SERIES_KIND_DOMAIN", name: "law", value: 0.5 },
    { kind: "SERIES_KIND_DOMAIN", name: "law", value: 0.75 },
  ],
};

describe("quire sources", () => {
  it("writes what is known, shows it so that it can be written again, and deletes it", async () => {
    const put = await sources("put", file(known), "--agent", "helper");
    expect(put).toMatchObject({ code: 0, out: "3 items written, 3 observations recorded\n" });
    const shown = await sources("show", "--agent", "helper");
    const parsed = JSON.parse(shown.out) as typeof known;
    expect(parsed.items).toHaveLength(3);
    expect(parsed.observations.map(({ name, value }) => [name, value])).toEqual([
      ["law", 0.5],
      ["law", 0.75],
      ["BTC", 2],
    ]);
    await sources("put", file(shown.out), "--agent", "other");
    expect((await sources("show", "--agent", "other")).out).toBe(shown.out);
    expect((await sources("delete", "fact", "gold: a metal", "--agent", "other")).out).toBe(
      "1 items deleted\n",
    );
    expect((await sources("delete", "domain", "law", "--agent", "other")).out).toBe(
      "2 observations deleted\n",
    );
    expect((await sources("delete", "rule", "--agent", "other", "--json")).out).toBe('{"deleted":1}\n');
    const left = JSON.parse((await sources("show", "--agent", "other")).out) as typeof known;
    expect([left.items.length, left.observations.length]).toEqual([1, 1]);
  });

  it("says which entry of a file is wrong, and which field of a request", async () => {
    const bad = file({ items: [{ rule: { text: "x" } }, { rul: 1 }] });
    expect((await sources("put", bad)).err).toContain("items[1]: this is no SourceItem of the contract");
    expect((await sources("put", file({ facts: [] }))).err).toContain('has "facts", where only items');
    expect((await sources("put", file("{"))).err).toContain("cannot be read as JSON");
    const value = { kind: "SERIES_KIND_DOMAIN", name: "law", value: 7 };
    expect((await sources("put", file({ observations: [value] }))).err).toContain(
      "observations[0].value: must be a number from 0 to 1",
    );
    expect((await sources("delete", "foo")).err).toContain('there is no kind "foo"; there are entity');
    expect((await sources("rule", "procedures", '{"maxItemz": 1}')).err).toContain('"maxItemz" is unknown');
    expect((await sources("register", "news", "--at", "nonsense")).err).toContain("source.endpoint.address");
    const ca = file("no certificate");
    expect((await sources("register", "news", "--at", "127.0.0.1:1", "--plug-in-ca", ca)).err).toContain(
      "source.endpoint.tls.ca_pem",
    );
  });

  it("sets rules, registers and removes; a plug-in keeps its address when its rule changes", async () => {
    expect((await sources("rule", "procedures", '{"maxItems": 5}')).out).toBe(
      "the rule of procedures is set\n",
    );
    expect((await sources("register", "news", "--at", "127.0.0.1:1")).out).toBe(
      "source news is registered; but nothing listens at its address\n",
    );
    await sources("rule", "news", '{"deadlineMs": 300, "roles": ["AGENT_ROLE_MANAGER"]}');
    const found = (await sources("--json")).out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { name: string; rule: object; config?: { endpoint?: object } });
    const named = (name: string) => found.find((one) => one.name === name)!;
    expect(named("procedures").rule).toMatchObject({ maxItems: 5 });
    expect(named("news")).toMatchObject({
      config: { endpoint: { address: "127.0.0.1:1" } },
      rule: { deadlineMs: 300, roles: ["AGENT_ROLE_MANAGER"] },
    });
    expect((await sources()).out).toMatch(/^memory +built in +current +not asked/m);
    expect((await sources("remove", "news")).out).toBe("news is removed\n");
    expect((await sources("remove", "news")).err).toContain("SOURCE_NOT_FOUND");
    await sources("remove", "procedures");
  });

  it("prints what came of each source with a context and its receipt", async () => {
    const capsule = file({ persona: { corePrompt: "You are Helper.", model: { model: "gpt-4o" } } });
    const at = ["--address", server.address];
    await runCli("capsule", "put", "helper", capsule, ...at);
    await runCli(
      "import",
      file([
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Hello" },
      ]),
      ...["--format", "openai", "--session", "s"],
      ...at,
    );
    const { out } = await runCli(
      "assemble",
      "s",
      "--capsule",
      "helper",
      "--message",
      "Deploy it",
      "--show",
      "system",
      ...at,
    );
    expect(out).toMatch(/^sources +behavioral_rules: ok, 1 block, \d+ tokens, \d+\.\d ms$/m);
    expect(out).toMatch(/^ +procedures: ok, 1 block/m);
    const id = /^receipt +(\S+)/m.exec(out)![1]!;
    const receipt = await runCli("receipt", id, ...at);
    expect(receipt.out).toMatch(/^ +procedures: ok, 1 block, \d+ tokens, \d+\.\d ms$/m);
  });
});
