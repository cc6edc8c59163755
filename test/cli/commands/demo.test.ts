import { readdirSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { startTestServer, type TestServer } from "../../support/server.js";
import { tempFolder } from "../../support/temp-folder.js";
import { jsonLines, runCli, spawnCli } from "../support/run-cli.js";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server?.stop());
afterEach(() => vi.unstubAllEnvs());

const titles = (out: string) => [...out.matchAll(/^\d\. (.*)$/gm)].map(([, title]) => title);

describe("quire demo", () => {
  it("runs on a server, again and again, and leaves what it made with how to look at it", async () => {
    const runs = [
      await runCli("demo", "--address", server.address),
      await runCli("demo", "--address", server.address),
    ];
    for (const { code, out, err } of runs) {
      expect(code).toBe(0);
      expect(err).toContain(`this demo runs on the server at ${server.address}`);
      expect(titles(out)).toHaveLength(9);
      expect(out).toMatch(/^tool refund_order +tools +\d+ +cut +permission not granted: refunds\.pay$/m);
      expect(out).toContain("unchanged: not sent again");
      expect(out).toMatch(/^ +4 messages sent: 1 user, 2 assistant, 1 tool$/m);
      expect(out).toMatch(/^extends +the later one begins with all of the earlier one/m);
      for (const line of out.split("To look at it:")[0]!.split("\n"))
        expect(line.length).toBeLessThanOrEqual(80);
    }
    const { out: listed } = await runCli("sessions", "--json", "--address", server.address);
    const sessions = jsonLines<{ label: string }>(listed).map(({ label }) => label);
    expect(sessions.filter((label) => /^demo-[\d-]+(-fork)?$/.test(label))).toHaveLength(4);
    const hints = runs[0]!.out.split("To look at it:\n")[1]!.trim().split("\n");
    for (const hint of hints) {
      const words = [...hint.trim().matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
      expect(await runCli(...words.slice(2))).toMatchObject({ code: 0 });
    }
  });

  it("starts a server of its own where none answers, and leaves nothing", async () => {
    const folder = tempFolder();
    vi.stubEnv("TMPDIR", folder);
    const { code, out, err } = await spawnCli("demo", "--own").done;
    expect(code).toBe(0);
    expect(err).toContain("this demo runs on a server of its own");
    expect(titles(out)).toHaveLength(9);
    expect(out).toContain("To keep what the demo makes: quire serve");
    expect(readdirSync(folder).filter((name) => name.startsWith("quire"))).toEqual([]);
  });

  it("leaves nothing when it is stopped half way", async () => {
    const folder = tempFolder();
    vi.stubEnv("TMPDIR", folder);
    const cli = spawnCli("demo", "--own");
    await cli.said(/^1\. /m);
    cli.child.kill("SIGINT");
    expect([0, 130]).toContain((await cli.done).code);
    expect(readdirSync(folder).filter((name) => name.startsWith("quire"))).toEqual([]);
  });

  it("fails with 2 for wrong usage", async () => {
    expect(await runCli("demo", "--address", "nowhere")).toMatchObject({ code: 2 });
    expect(await runCli("demo", "--json")).toMatchObject({ code: 2 });
  });
});
