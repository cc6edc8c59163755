import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { longRun } from "../../examples/run/long-run.js";
import { packageRoot } from "../../src/config/package-root.js";

const run = promisify(execFile);
const turns = Number(process.env.QUIRE_AGENT_TURNS ?? 120);

describe("the agent in TypeScript", () => {
  // Whoever packs the server empties dist/, and builds only what belongs to it.
  beforeAll(() => run(process.execPath, [join(packageRoot, "scripts", "client.mjs")]));

  test(`${turns} turns on four providers, with overflows, workers and kill -9: none refused, lost or doubled`, async () => {
    const command = [process.execPath, join(packageRoot, "dist", "examples", "typescript", "agent.js")];
    const result = await longRun({ command, cwd: packageRoot }, { root: packageRoot, turns });
    console.log(result);
    expect(result.turns).toBe(turns);
    expect(result.kills).toBeGreaterThan(2);
    expect(result.overflows).toBeGreaterThan(1);
    expect(result.workers).toBe(turns / 10);
    for (const share of Object.values(result.cacheShare)) expect(share).toBeGreaterThan(0.7);
  });
});

describe("the client's package in an empty folder", () => {
  test("it connects without the server's package, and brings no more than it needs", async () => {
    const folder = mkdtempSync(join(tmpdir(), "quire-client-package-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const client = join(packageRoot, "clients", "typescript");
    const pack = ["pack", "--json", "--pack-destination", folder];
    const { stdout } = await run("npm", pack, { cwd: client, timeout: 600_000, maxBuffer: 64 * 1024 * 1024 });
    const [packed] = JSON.parse(stdout.slice(stdout.indexOf("[\n")));
    writeFileSync(join(folder, "package.json"), '{ "name": "app", "type": "module", "private": true }');
    const env = { PATH: process.env.PATH, HOME: process.env.HOME };
    const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", join(folder, packed.filename)];
    await run("npm", install, { cwd: folder, env, timeout: 600_000 });
    writeFileSync(
      join(folder, "main.js"),
      `import { connect } from "quire-client";
import { MessageRole } from "quire-client/v1/message";
const quire = connect("127.0.0.1:1", { timeoutMs: 200 });
await quire.ledger.listSessions({}).catch(({ name, code }) => console.log(name, code, MessageRole.USER));
quire.close();
`,
    );
    const ran = await run(process.execPath, ["main.js"], { cwd: folder, env });
    expect(ran.stdout).toMatch(/^QuireError (UNAVAILABLE|DEADLINE_EXCEEDED) MESSAGE_ROLE_USER\n$/);
    const { stdout: listed } = await run("npm", ["ls", "--all", "--parseable"], { cwd: folder, env });
    expect(listed).not.toMatch(/quire-server|prisma/);
    expect(
      packed.files.every(({ path }: { path: string }) =>
        /^(dist\/|package\.json|README\.md|LICENSE)/.test(path),
      ),
    ).toBe(true);
  });
});
