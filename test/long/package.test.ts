import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "quire-package-"));
const app = join(folder, "app");
const quire = join(app, "node_modules", ".bin", "quire");

/** Nothing of this repository's own packages is on its path. */
const inApp = (command: string, ...args: readonly string[]) =>
  run(command, [...args], {
    cwd: app,
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    timeout: 600_000,
  });

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

let packed: Packed;

/** `npm pack` as a release does it, and the tarball installed into an empty folder. */
beforeAll(async () => {
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", folder], {
    cwd: packageRoot,
    timeout: 600_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  // What is built says so first.
  [packed] = JSON.parse(stdout.slice(stdout.indexOf("[\n"))) as [Packed];
  await run("mkdir", [app]);
  writeFileSync(join(app, "package.json"), '{ "name": "app", "type": "module", "private": true }');
  const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", join(folder, packed.filename)];
  await inApp("npm", ...install);
}, 1_200_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the package in an empty folder", () => {
  test("has what is run, and neither sources, tests nor benchmarks", () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths.filter((path) => /^(test|bench|scripts|examples|node_modules)\//.test(path))).toEqual([]);
    expect(paths.filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"))).toEqual([]);
    expect(paths).toEqual(
      expect.arrayContaining(["bin/quire.js", "README.md", "LICENSE", "dist/src/index.d.ts"]),
    );
  });

  test("every command has its help, and doctor finds nothing wrong", async () => {
    const { stdout: help } = await inApp(quire, "--help");
    const commands = [...help.matchAll(/^ {2}([a-z]+)(?: |$)/gm)]
      .map(([, name]) => name!)
      .filter((name) => name !== "help");
    expect(commands.length).toBeGreaterThan(15);
    for (const name of commands)
      expect((await inApp(quire, name, "--help")).stdout).toContain(`quire ${name}`);
    const { stdout } = await inApp(quire, "doctor", "--listen", "127.0.0.1:0", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ ok: true });
  });

  test("quire serve serves, the demo runs on it, and it stops at a signal", async () => {
    const server = spawn(quire, ["serve", "--listen", "127.0.0.1:0", "--json"], {
      cwd: app,
      env: { PATH: process.env.PATH },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const exited = once(server, "exit");
    onTestFinished(async () => {
      server.kill("SIGKILL");
      await exited;
    });
    const ended = exited.then(([code]) => Promise.reject(new Error(`the server ended with ${code}`)));
    ended.catch(() => undefined);
    const [line] = (await Promise.race([once(server.stdout, "data"), ended])) as [Buffer];
    const { addresses } = JSON.parse(line.toString()) as { addresses: string[] };
    const { stdout } = await inApp(quire, "demo", "--address", addresses[0]!);
    expect(stdout).toContain("What was said");
    const listed = await inApp(quire, "sessions", "--address", addresses[0]!, "--json");
    expect(listed.stdout).toContain("demo-");
    server.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
  });

  test("createQuire runs in the process that imports it, worker threads and all", async () => {
    const code = `import { createQuire } from "quire-server";
const quire = await createQuire({ database: "file:data/own.db" });
const text = (value) => ({ content: { $case: "text", value: { text: value } } });
await quire.capsules.putCapsule({ name: "atlas", body: { persona: { corePrompt: "You are Atlas." } } });
await quire.ledger.createSession({ label: "s" });
await quire.ledger.recordTurn({ session: "s", messages: [{ role: "MESSAGE_ROLE_USER", parts: [text("long ".repeat(100_000))] }] });
const { tokens } = await quire.assembly.countTokens({ texts: ["abc ".repeat(100_000)], model: "gpt-4o" });
const context = { session: "s", capsule: "atlas", event: { content: [text("and?")] } };
const built = await quire.assembly.buildContext({ context });
console.log(built.context.history.length, tokens.length);
await quire.close();
`;
    writeFileSync(join(app, "main.js"), code);
    expect((await inApp(process.execPath, "main.js")).stdout).toBe("1 1\n");
  });
});
