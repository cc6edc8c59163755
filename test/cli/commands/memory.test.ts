import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/server.js";
import { jsonLines, runCli } from "../support/run-cli.js";
import { seedAgent } from "../support/seed-agent.js";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server?.stop());

const memory = (...args: readonly string[]) => runCli("memory", ...args, "--address", server.address);

const assemble = (...args: readonly string[]) => runCli("assemble", ...args, "--address", server.address);

/** What an agent's context says. */
async function shown(agent: string, ...args: readonly string[]): Promise<string> {
  const look = ["--capsule", agent, "--message", "hi", "--dry-run", "--show", "system,current"];
  return (await assemble(agent, ...look, ...args)).out;
}

describe("quire memory", () => {
  it("makes, changes, shows and lists blocks", async () => {
    expect(await memory("set", "entropy", "notes", "Hello", "--create")).toMatchObject({
      code: 0,
      out: "block notes: revision 1, 5 of 20000 characters\nit is in every context of entropy, in the system prompt\n",
    });
    await memory("append", "entropy", "notes", "Call Ada.", "--as", "agent:entropy");
    expect((await memory("show", "entropy", "notes")).out).toBe(
      '<block:notes permission="ReadWrite">\nHello\nCall Ada.\n</block:notes>\n',
    );
    expect((await memory("ls", "entropy")).out).toMatch(/^entropy +notes +core +read-write +2 +15 +20k +/m);
    const [block] = jsonLines((await memory("show", "entropy", "notes", "--json")).out);
    expect(block).toMatchObject({ label: "notes", revision: 2, contentJson: '"Hello\\nCall Ada."' });
  });

  it("a new block is in the context at once, unless it is asked to be of another type", async () => {
    await seedAgent(server, "nova", 0);
    await memory("set", "nova", "facts", "Ada likes tea.", "--create");
    const pinned = ["--create", "--pinned", "--description", "what comes next"];
    expect((await memory("append", "nova", "plan", "Call Ada.", ...pinned)).out).toContain(
      "in every context",
    );
    const kept = await memory("append", "nova", "kept", "An old letter.", "--create", "--type", "working");
    expect(kept.out).toContain(
      "\nit is in no context but where a request names it: quire assemble --block kept\n",
    );
    expect(kept.out).toContain("\nto have it in every one: quire memory configure nova kept --pin\n");
    const rows = jsonLines((await memory("ls", "nova", "--json")).out);
    expect(rows).toMatchObject([
      { label: "facts", type: "BLOCK_TYPE_CORE" },
      { label: "kept", type: "BLOCK_TYPE_WORKING" },
      { label: "plan", type: "BLOCK_TYPE_WORKING", pinned: true, description: "what comes next" },
    ]);
    expect(await shown("nova")).toMatch(/Ada likes tea\..*what comes next.*Call Ada\./s);
    expect(await shown("nova")).not.toContain("An old letter.");
    expect(await shown("nova", "--block", "kept")).toContain("An old letter.");
  });

  it("lists by type, and what is shared with an agent", async () => {
    await memory("set", "lyra", "facts", "one", "--create");
    await memory("set", "lyra", "diary", "two", "--create", "--type", "archival");
    await memory("share", "lyra", "diary", "mira", "--permission", "append");
    const labels = async (...args: string[]) =>
      jsonLines((await memory("ls", ...args, "--json")).out).map((row) => (row as { label: string }).label);
    expect(await labels("lyra", "--type", "archival")).toEqual(["diary"]);
    expect(await labels("lyra", "--shared")).toEqual(["diary"]);
    expect(await labels("--as", "agent:mira", "--shared")).toEqual(["diary"]);
    expect((await memory("ls", "mira")).err).toContain("quire memory ls --as agent:mira");
  });

  it("configures and deletes", async () => {
    await memory("set", "vega", "plan", "one", "--create", "--type", "log");
    expect((await memory("configure", "vega", "plan", "--pin")).out).toContain("--type core");
    const core = await memory("configure", "vega", "plan", "--type", "core", "--unpin", "--limit", "50");
    expect(core.out).toBe(
      "block plan: revision 3, 3 of 50 characters\nit is in every context of vega, in the system prompt\n",
    );
    expect((await memory("delete", "vega", "plan", "--as", "agent:vega")).err).toContain("BLOCK_NOT_ALLOWED");
    expect((await memory("delete", "vega", "plan")).out).toBe("block plan: deleted, with all 3 revisions\n");
    expect((await memory("ls", "vega")).out).not.toContain("plan");
    expect((await memory("configure", "vega", "plan", "--pin")).err).toContain("hint: what there is:");
    expect((await memory("configure", "vega", "plan")).code).toBe(2);
    expect((await memory("configure", "vega", "plan", "--pin", "--unpin")).code).toBe(2);
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
    expect((await memory("set", "my agent", "nothing", "x")).err).toContain(
      "hint: to make it: quire memory set 'my agent' nothing <text> --create",
    );
    expect((await memory("set", "entropy", "notes", "x", "--type", "core")).code).toBe(2);
    const known = await memory("append", "entropy", "notes", "y", "--create", "--type", "log");
    expect(known.err).toContain("the block was there already, and is what it was");
    expect((await memory("append", "entropy", "notes", "x", "--as", "nobody")).code).toBe(2);
    expect((await memory("set", "entropy", "bad label", "x", "--create")).code).toBe(1);
    const zero = await memory("diff", "entropy", "notes", "zero");
    expect([zero.code, zero.err]).toEqual([2, expect.stringContaining("whole number")]);
  });
});
