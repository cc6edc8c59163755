import { EventEmitter, once } from "node:events";
import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { arch, hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withClient } from "../../../src/cli/client/with-client.js";
import type { PushReport } from "../../../src/cli/workspace/push-folder.js";
import { watchWorkspace } from "../../../src/cli/workspace/watch-workspace.js";
import { startTestServer, type TestServer } from "../../support/server.js";
import { tempFolder } from "../../support/temp-folder.js";
import { type WorkspaceClient, workspaceCalls } from "../../workspace/workspace-calls.js";
import { jsonLines, runCli } from "../support/run-cli.js";

let server: TestServer;
let client: WorkspaceClient;

beforeAll(async () => {
  server = await startTestServer();
  client = workspaceCalls(server.address);
});

afterAll(async () => {
  client?.close();
  await server?.stop();
});

const quire = (...args: readonly string[]) => runCli("workspace", ...args, "--address", server.address);

/** A folder of the running test with these files. */
function folderOf(files: Readonly<Record<string, string | Buffer>>): string {
  const folder = realpathSync(tempFolder());
  for (const [path, content] of Object.entries(files)) write(folder, path, content);
  return folder;
}

function write(folder: string, path: string, content: string | Buffer): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

const capabilities = {
  capabilities: [{ name: "mail", category: "Communication", state: "CAPABILITY_STATE_ACTIVE" }],
};
const tools = {
  tools: [{ name: "search", inputSchemaJson: "{}" }],
  rules: [{ tool: "search", maxCalls: 3 }],
};

describe("quire workspace push", () => {
  it("sends the documents, capabilities and toolsets of a folder, and the facts of the machine", async () => {
    const folder = folderOf({
      "AGENTS.md": "Be kind.",
      "SOUL.md": "Calm.",
      "IDENTITY.md": "Atlas",
      "user/IDENTITY.md": "Ann",
      "docs/deep/NOTES.MD": "notes",
      "README.txt": "no Markdown",
      ".hidden/a.md": "hidden",
      ".b.md": "hidden",
      "node_modules/x/README.md": "of others",
      "capabilities.json": JSON.stringify(capabilities),
      "toolsets/main.json": JSON.stringify(tools),
      "toolsets/other.json": JSON.stringify({ name: "named", tools: [] }),
    });
    const { code, out } = await quire("push", folder, "--name", "all");
    expect(code).toBe(0);
    expect(
      out
        .trimEnd()
        .split("\n")
        .map((line) => line.replace(/ +/g, " ")),
    ).toEqual([
      "DOCUMENT KIND VERSION TOKENS CHANGE",
      "AGENTS.md rules 1 3 new",
      "IDENTITY.md agent identity 1 1 new",
      "SOUL.md soul 1 3 new",
      "docs/deep/NOTES.MD other 1 1 new",
      "user/IDENTITY.md user identity 1 1 new",
      "capabilities: 1, new",
      "toolset main: 1 tool, version 1, 2 tokens, new",
      "toolset named: 0 tools, version 1, 0 tokens, new",
    ]);
    const { workspace } = await client.getWorkspace({ name: "all" });
    expect(workspace).toMatchObject({ path: folder, runtime: { host: hostname(), arch: arch() } });
    expect(workspace).toMatchObject({ capabilityCount: 1, toolsets: ["main", "named"] });
    const { toolset } = await client.getToolset({ workspace: "all", name: "main" });
    expect(toolset!.rules).toEqual([{ tool: "search", rule: { $case: "maxCalls", value: 3 } }]);
  });

  it("says what changed, and removes what is gone; the name is the folder's", async () => {
    const folder = folderOf({ "AGENTS.md": "one", "same.md": "same", "gone.md": "gone" });
    await quire("push", folder);
    write(folder, "AGENTS.md", "two");
    write(folder, "new.md", "new");
    rmSync(join(folder, "gone.md"));
    const [report] = jsonLines<PushReport>((await quire("push", folder, "--json")).out);
    expect(report!.workspace).toBe(basename(folder));
    expect(report!.documents.map(({ path, version, change }) => [path, version, change])).toEqual([
      ["AGENTS.md", 2, "changed"],
      ["new.md", 1, "new"],
      ["same.md", 1, "same"],
      ["gone.md", 1, "removed"],
    ]);
    const { workspace } = await client.getWorkspace({ name: basename(folder) });
    expect(workspace!.documents.map(({ path }) => path)).toEqual(["AGENTS.md", "new.md", "same.md"]);
  });

  it("leaves out files that no document can hold, says so, and keeps what the server has of them", async () => {
    const folder = folderOf({ "big.md": "small yet", "AGENTS.md": "rules" });
    await quire("push", folder, "--name", "odd");
    const elsewhere = folderOf({ "secret.md": "secret" });
    write(folder, "big.md", "x".repeat(1024 * 1024 + 1));
    write(folder, "latin1.md", Buffer.from([0xe9]));
    symlinkSync(join(elsewhere, "secret.md"), join(folder, "link.md"));
    symlinkSync(join(folder, "AGENTS.md"), join(folder, "CLAUDE.md"));
    const { code, out, err } = await quire("push", folder, "--name", "odd");
    expect(code).toBe(0);
    expect(out).toMatch(/^CLAUDE.md +other +1 +1 +new$/m);
    expect(err).toContain("left out: big.md is larger than 1 MiB");
    expect(err).toContain("left out: latin1.md is not UTF-8");
    expect(err).toContain("left out: link.md is a link that leads out of the folder");
    const { workspace } = await client.getWorkspace({ name: "odd" });
    expect(workspace!.documents.map(({ path }) => path)).toEqual(["AGENTS.md", "CLAUDE.md", "big.md"]);
  });

  it("follows no link out of the folder, and says so", async () => {
    const folder = folderOf({ "AGENTS.md": "rules", "toolsets/own.json": '{"tools":[{"name":"own"}]}' });
    const elsewhere = folderOf({
      "notes/secret.md": "secret",
      "capabilities.json": '{"capabilities":[]}',
      "tools.json": '{"tools":[{"name":"theirs"}]}',
    });
    symlinkSync(join(elsewhere, "notes"), join(folder, "notes"));
    symlinkSync(join(elsewhere, "capabilities.json"), join(folder, "capabilities.json"));
    symlinkSync(join(elsewhere, "tools.json"), join(folder, "toolsets", "theirs.json"));
    write(folder, "back\\slash.md", "x");
    const { code, err } = await quire("push", folder, "--name", "linked");
    expect(code).toBe(0);
    expect(err).toContain("left out: notes is a link to a folder, which is not followed");
    expect(err).toContain("left out: capabilities.json is a link that leads out of the folder");
    expect(err).toContain("left out: toolsets/theirs.json is a link that leads out of the folder");
    expect(err).toContain("slash.md has a name that no document may have");
    const { workspace } = await client.getWorkspace({ name: "linked" });
    expect(workspace!.documents.map(({ path }) => path)).toEqual(["AGENTS.md"]);
    expect(workspace).toMatchObject({ capabilityCount: 0, toolsets: ["own"] });
  });

  it("sends many documents in as many calls as it takes", async () => {
    const files = Object.fromEntries(Array.from({ length: 1_100 }, (_, at) => [`d/${at}.md`, `text ${at}`]));
    const folder = folderOf(files);
    expect(await quire("push", folder, "--name", "many")).toMatchObject({ code: 0 });
    const { workspace } = await client.getWorkspace({ name: "many" });
    expect(workspace!.documents).toHaveLength(1_100);
    rmSync(join(folder, "d"), { recursive: true });
    expect((await quire("push", folder, "--name", "many")).err).not.toContain("error");
    expect((await client.getWorkspace({ name: "many" })).workspace!.documents).toEqual([]);
  });

  it("fails with what is wrong, and where", async () => {
    expect(await quire("push", join(tempFolder(), "none"))).toMatchObject({ code: 1 });
    const folder = folderOf({ "toolsets/bad.json": '{"tols": []}' });
    const bad = await quire("push", folder, "--name", "bad");
    expect(bad).toMatchObject({
      code: 1,
      err: expect.stringContaining("toolsets/bad.json holds no Toolset"),
    });
    write(folder, "toolsets/bad.json", JSON.stringify({ tools: [{ name: "a" }, { name: "a" }] }));
    const refused = await quire("push", folder, "--name", "bad", "--json");
    const [line] = jsonLines<{ error: { reason: string } }>(refused.err);
    expect(line!.error).toMatchObject({
      reason: "INVALID_FIELD",
      fields: [{ field: "toolset.tools[1].name" }],
    });
    expect(await runCli("workspace", "push", folder, "--address", "127.0.0.1:1")).toMatchObject({ code: 1 });
    expect(await quire("push")).toMatchObject({ code: 2 });
  });
});

describe("quire workspace push --watch", () => {
  it("pushes what changes, in new folders, too, and goes on after a failure", async () => {
    const folder = folderOf({ "AGENTS.md": "one" });
    const stopped = new AbortController();
    const reports: PushReport[] = [];
    const errors: unknown[] = [];
    const changes = new EventEmitter();
    const until = async (isSo: () => boolean) => {
      while (!isSo()) await once(changes, "pushed");
    };
    const last = () => reports.at(-1)?.documents.map(({ path, version }) => `${path} ${version}`);
    await withClient({ address: server.address }, async ({ workspaces }) => {
      const watching = watchWorkspace(workspaces, {
        folder,
        name: basename(folder),
        signal: stopped.signal,
        onPush: (report) => {
          reports.push(report);
          changes.emit("pushed");
        },
        onError: (error) => {
          errors.push(error);
          changes.emit("pushed");
        },
      });
      await until(() => last()?.join() === "AGENTS.md 1");
      write(folder, "AGENTS.md", "two");
      await until(() => last()?.join() === "AGENTS.md 2");
      write(folder, "user/IDENTITY.md", "Ann");
      await until(() => last()?.join() === "AGENTS.md 2,user/IDENTITY.md 1");
      write(folder, "user/IDENTITY.md", "Bea");
      await until(() => last()?.join() === "AGENTS.md 2,user/IDENTITY.md 2");
      write(folder, "capabilities.json", "{");
      await until(() => errors.length > 0);
      rmSync(join(folder, "capabilities.json"));
      rmSync(join(folder, "user"), { recursive: true });
      await until(() => reports.at(-1)!.documents.some(({ change }) => change === "removed"));
      stopped.abort();
      await watching;
    });
  });
});

describe("quire workspace show and list", () => {
  it("show a workspace with its documents, and all of them", async () => {
    const folder = folderOf({ "AGENTS.md": "Be kind.", "toolsets/main.json": JSON.stringify(tools) });
    await quire("push", folder, "--name", "shown");
    const { out } = await quire("show", "shown");
    expect(out).toMatch(/^name +shown$/m);
    expect(out).toContain(`path          ${folder}`);
    expect(out).toMatch(/^toolsets +main$/m);
    expect(out).toMatch(/^AGENTS.md +rules +1 +8 +3 +\d{4}-/m);
    const [json] = jsonLines((await quire("show", "shown", "--json")).out);
    expect(json).toMatchObject({
      name: "shown",
      documents: [{ path: "AGENTS.md", kind: "DOCUMENT_KIND_RULES" }],
    });
    expect((await quire("list")).out).toMatch(/^shown +\S+ +0 +1 +\d{4}-/m);
    expect(jsonLines((await quire("list", "--json")).out)).toContainEqual(
      expect.objectContaining({ name: "shown" }),
    );
    expect((await quire("list", "--limit", "1")).err).toContain("there are more");
  });

  it("say when there is none of that name", async () => {
    const { code, err } = await quire("show", "none-such");
    expect(code).toBe(1);
    expect(err).toContain("reason: WORKSPACE_NOT_FOUND");
  });
});
