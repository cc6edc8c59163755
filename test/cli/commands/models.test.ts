import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/server.js";
import { jsonLines, runCli } from "../support/run-cli.js";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server?.stop());

const models = (...args: readonly string[]) => runCli("models", ...args, "--address", server.address);

describe("quire models", () => {
  it("shows limits, how tokens are counted, and the prompt cache", async () => {
    const { code, out, err } = await models();
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(
      /^MODEL +PROVIDER +WINDOW +OUTPUT +TOKENS +RATIO +MARGIN +EVIDENCE +CACHE +MINIMUM +TTL +INPUT +OUT +ASSUMED$/m,
    );
    expect(out).toMatch(
      /^claude-haiku-4-5 +anthropic +200,000 +64,000 +estimated +1\.250 +15\.0 % +0 +breakpoints +4,096 +5 min +1 +5 +-$/m,
    );
    expect(out).toMatch(
      /^gpt-4o +openai +128,000 +[\d,]+ +exact +- +- +- +prefix +1,024 +\d+ min +2\.5 +10 +-$/m,
    );
    const names = [...out.matchAll(/^([a-z][\w.-]*)/gm)].map(([, name]) => name);
    expect(names).toEqual(names.toSorted());
  });

  it("keeps those whose name begins with a prefix, and with --json prints a line for each", async () => {
    const lines = jsonLines<{ name: string }>((await models("claude-", "--json")).out);
    expect(lines.length).toBeGreaterThan(3);
    for (const { name } of lines) expect(name).toMatch(/^claude-/);
    expect(lines.find(({ name }) => name === "claude-haiku-4-5")).toMatchObject({
      contextTokens: 200_000,
      ratio: 1.25,
      margin: 0.15,
      cacheKind: "CACHE_KIND_BREAKPOINTS",
      cacheTtlSeconds: 300,
    });
  });

  it("says when there is none", async () => {
    expect(await models("none-such")).toMatchObject({
      code: 0,
      out: "",
      err: expect.stringContaining("no model"),
    });
    expect(await models("none-such", "--json")).toMatchObject({ code: 0, out: "", err: "" });
  });
});
