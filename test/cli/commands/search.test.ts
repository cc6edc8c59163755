import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memoryCalls } from "../../memory/memory-calls.js";
import { startTestServer, type TestServer } from "../../support/server.js";
import { jsonLines, runCli, runCliOnScreen } from "../support/run-cli.js";
import { seedAgent } from "../support/seed-agent.js";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  const memory = memoryCalls(server.address);
  const keep = (agent: string, content: string) =>
    memory.insertArchival({ owner: { kind: "OWNER_KIND_AGENT", name: agent }, content });
  await keep("atlas", "Ann: The tulips\nneed water\u001b[31m on Mondays.");
  await keep("nova", "Nova has tulips, too.");
  memory.close();
});

afterAll(() => server?.stop());

const at = () => ["--address", server.address];

describe("quire search", () => {
  it("shows what was found, its score and why, best first", async () => {
    const { code, out } = await runCli("search", "tulips", "water", ...at());
    expect(code).toBe(0);
    expect(out).toMatch(/^\d+\.\d\d +archival of atlas by Ann \d{4}-/);
    expect(out).toContain("           Ann: The tulips need water\uFFFD[31m on Mondays.\n");
    expect(out).toMatch(/has tulip, water; coverage \d\.\d\d/);
    expect(out.indexOf("atlas")).toBeLessThan(out.indexOf("nova"));
  });

  it("highlights the words on a screen only", async () => {
    const screen = await runCliOnScreen("search", "tulips", ...at());
    expect(screen.out).toContain("\u001b[1mtulips\u001b[22m");
    expect((await runCli("search", "tulips", ...at())).out).not.toContain("\u001b");
  });

  it("finds only what an agent may read, and only so many", async () => {
    const nova = await runCli("search", "tulips", "--agent", "nova", ...at());
    expect(nova.out).toContain("Nova has tulips");
    expect(nova.out).not.toContain("Ann");
    const { out } = await runCli("search", "tulips", "--limit", "1", "--json", ...at());
    const [answer] = jsonLines<{ results: readonly object[]; mode: string }>(out);
    expect([answer!.results.length, answer!.mode]).toEqual([1, "SEARCH_MODE_KEYWORD"]);
  });

  it("says when nothing was found, and what is wrong with a request", async () => {
    expect(await runCli("search", "zeppelin", ...at())).toMatchObject({
      code: 0,
      out: "",
      err: "nothing was found\n",
    });
    const hybrid = await runCli("search", "tulips", "--mode", "hybrid", ...at());
    expect(hybrid.err).toContain("no embedder is configured");
    expect((await runCli("search", "tulips", "--mode", "vector", ...at())).err).toContain("no embedder");
    expect((await runCli("search", "x", "--session", "none", ...at())).err).toContain("SESSION_NOT_FOUND");
    expect((await runCli("search", "x", "--mode", "magic", ...at())).code).toBe(2);
  });
});

describe("quire reindex", () => {
  it("makes the index anew beside a running server, which finds the same", async () => {
    const before = await runCli("search", "tulips", ...at());
    const { code, out } = await runCli("reindex", "--database", server.config.database, "--json");
    expect([code, JSON.parse(out)]).toEqual([0, { texts: 2 }]);
    expect(await runCli("search", "tulips", ...at())).toEqual(before);
    const shown = await runCli("reindex", "--database", server.config.database);
    expect(shown.err).toBe("1 of 2 texts\n2 of 2 texts\n2 texts indexed anew\n");
  });

  it("makes no database where there is none", async () => {
    const { code, err } = await runCli("reindex", "--database", `file:${server.folder}/none.db`);
    expect(code).toBe(1);
    expect(err).toContain("there is no database");
  });
});

describe("quire search among messages", () => {
  it("names their session by its label, and not by its id", async () => {
    await seedAgent(server, "garden", 1);
    const { out } = await runCli("search", "question", ...at());
    expect(out).toMatch(/user message in garden \d{4}-/);
  });
});
