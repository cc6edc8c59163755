import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/server.js";
import { jsonLines, runCli } from "../support/run-cli.js";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server?.stop());

const memory = (...args: readonly string[]) => runCli("memory", ...args, "--address", server.address);

describe("quire memory", () => {
  it("makes, changes, shows and lists blocks", async () => {
    expect(await memory("set", "entropy", "notes", "Hello", "--create")).toMatchObject({
      code: 0,
      out: "block notes: revision 1, 5 of 20000 characters\n",
    });
    await memory("append", "entropy", "notes", "Call Ada.", "--as", "agent:entropy");
    expect((await memory("show", "entropy", "notes")).out).toBe(
      '<block:notes permission="ReadWrite">\nHello\nCall Ada.\n</block:notes>\n',
    );
    expect((await memory("ls", "entropy")).out).toMatch(
      /^entropy +notes +working +read-write +2 +15 +20000 +/m,
    );
    const [block] = jsonLines((await memory("show", "entropy", "notes", "--json")).out);
    expect(block).toMatchObject({ label: "notes", revision: 2, contentJson: '"Hello\\nCall Ada."' });
  });

  it("shows history and differences, and restores", async () => {
    await memory("set", "flux", "plan", "one", "--create");
    await memory("set", "flux", "plan", "two", "--as", "human:ada");
    expect((await memory("history", "flux", "plan")).out).toMatch(
      / 2 +\d{4}-.* human ada +set_text\n +1 .* system +created/,
    );
    expect((await memory("diff", "flux", "plan", "1")).out).toContain("-one\n+two");
    expect((await memory("show", "flux", "plan", "--revision", "1")).out).toBe("one\n");
    expect((await memory("restore", "flux", "plan", "1")).out).toContain("revision 3");
    expect((await memory("show", "flux", "plan", "--revision", "3")).out).toBe("one\n");
  });

  it("shares a block with another agent, and takes it away", async () => {
    await memory("set", "team:ops", "runbook", "restart it", "--create");
    expect((await memory("share", "team:ops", "runbook", "flux", "--permission", "append")).out).toBe(
      "block runbook: shared with flux (append)\n",
    );
    expect((await memory("show", "team:ops", "runbook", "--as", "agent:flux")).out).toContain(
      'permission="Append" shared_from="team ops"',
    );
    expect((await memory("share", "team:ops", "runbook", "flux", "--remove")).out).toBe(
      "block runbook: shared with nobody\n",
    );
  });

  it("says what is wrong, without a word too many", async () => {
    const missing = await memory("show", "entropy", "nothing");
    expect([missing.code, missing.out]).toEqual([1, ""]);
    expect(missing.err).toContain('"entropy" has no block "nothing"');
    expect((await memory("append", "entropy", "notes", "x", "--as", "nobody")).code).toBe(2);
    expect((await memory("set", "entropy", "bad label", "x", "--create")).code).toBe(1);
    expect((await memory("diff", "entropy", "notes", "zero")).code).not.toBe(0);
  });
});
