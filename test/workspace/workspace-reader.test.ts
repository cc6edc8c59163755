import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CapabilityState, DocumentKind, type Toolset } from "../../src/domain/workspace.js";
import { type Database, openDatabase } from "../../src/storage/database.js";
import type { WriteKey } from "../../src/storage/stored-answers.js";
import { TokenCounter } from "../../src/tokens/token-counter.js";
import { putCapabilities } from "../../src/workspace/capabilities.js";
import { createWorkspaces, type WorkspaceDeps } from "../../src/workspace/deps.js";
import { putDocuments } from "../../src/workspace/documents.js";
import { deleteToolset, putToolset } from "../../src/workspace/toolsets.js";
import { deleteWorkspace, putWorkspace } from "../../src/workspace/workspaces.js";
import { startPostgres } from "../support/postgres.js";
import { tempFolder } from "../support/temp-folder.js";
import { capability, tool } from "./workspace-calls.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const tenant = "t";

/** No protection by a request id: these writes are never repeated. */
function key<Answer>(tenantId = tenant): WriteKey<Answer> {
  const never = () => {
    throw new Error("nothing is stored");
  };
  return { tenantId, method: "M", requestId: "", requestHash: Buffer.alloc(0), encode: never, decode: never };
}

type Pair = readonly [path: string, content: string, kind?: DocumentKind];

const documents = (...pairs: readonly Pair[]) =>
  pairs.map(([path, content, kind = DocumentKind.UNSPECIFIED]) => ({
    path,
    content,
    kind,
    version: 0,
    hash: Buffer.alloc(0),
    sizeBytes: 0,
    o200kTokens: 0,
    updateTime: undefined,
  }));

const toolset = (name: string, ...names: readonly string[]): Toolset => ({
  name,
  tools: names.map((each) => tool(each, { description: "does it", inputSchemaJson: "{}" })),
  rules: [],
  version: 0,
  hash: Buffer.alloc(0),
  o200kTokens: 0,
  updateTime: undefined,
});

const databases = [
  { name: "SQLite", url: async () => `file:${join(tempFolder(), "quire.db")}` },
  ...(postgres ? [{ name: "PostgreSQL", url: () => postgres.createDatabase() }] : []),
];

describe.each(databases)("WorkspaceReader on $name", ({ name, url }) => {
  /** A reader whose database says how often it was asked. */
  async function open(): Promise<{
    readonly deps: WorkspaceDeps;
    queries(): number;
    close(): Promise<void>;
  }> {
    const database = await openDatabase({ url: await url(), poolSize: 4 });
    let queries = 0;
    const counting: Database = {
      ...database,
      reader: new Proxy(database.reader, {
        get: (client, property) => {
          queries += 1;
          return Reflect.get(client, property) as unknown;
        },
      }),
      sqlReader: {
        ...database.sqlReader,
        query: (text, args) => {
          queries += 1;
          return database.sqlReader.query(text, args);
        },
      },
      remember: (select) =>
        database.remember({
          ...select,
          read: (rows) => {
            queries += 1;
            return select.read(rows);
          },
        }),
    };
    const counter = new TokenCounter();
    const deps = createWorkspaces({ database: counting, counter });
    const taken = () => {
      const count = queries;
      queries = 0;
      return count;
    };
    return { deps, queries: taken, close: () => database.close() };
  }

  let opened: Awaited<ReturnType<typeof open>>;
  let deps: WorkspaceDeps;
  const put = (...given: readonly Pair[]) =>
    putDocuments(deps, key(), { workspace: "home", documents: documents(...given), removePaths: [] });

  it("gives what goes into prompts, and asks one query at most when it is warm", async () => {
    opened = await open();
    deps = opened.deps;
    try {
      const runtime = { host: "h", os: "o", arch: "a" };
      await putWorkspace(deps, key(), { name: "home", path: "/home", runtime });
      await put(
        ["notes.md", "not for prompts"],
        ["IDENTITY.md", "I am Atlas."],
        ["SOUL.md", "Kind."],
        ["user/IDENTITY.md", "Ann"],
        ["more.md", "More rules.", DocumentKind.RULES],
        ["AGENTS.md", "Rules."],
      );
      const snapshot = {
        capabilities: [capability("mail", "Communication", CapabilityState.ACTIVE)],
        credentialsConfigured: 1,
        credentialsBroken: [],
        hash: Buffer.alloc(0),
        snapshotTime: undefined,
      };
      await putCapabilities(deps, key(), "home", snapshot);
      const view = await deps.reader.resolve(tenant, "home");
      expect(view).toMatchObject({ name: "home", path: "/home", runtime, revision: 3 });
      expect(view!.documents.map(({ path, content, version }) => [path, content, version])).toEqual([
        ["AGENTS.md", "Rules.", 1],
        ["more.md", "More rules.", 1],
        ["user/IDENTITY.md", "Ann", 1],
        ["SOUL.md", "Kind.", 1],
        ["IDENTITY.md", "I am Atlas.", 1],
      ]);
      expect(view!.snapshot).toMatchObject({ capabilities: snapshot.capabilities, credentialsConfigured: 1 });
      expect(view).toMatchObject({ snapshotHash: view!.snapshot!.hash, snapshotTime: expect.any(Date) });
      opened.queries();
      expect(await deps.reader.resolve(tenant, "home")).toBe(view);
      // What nobody wrote since is not asked again where that can be known.
      expect(opened.queries()).toBe(name === "SQLite" ? 0 : 1);
    } finally {
      await opened.close();
    }
  });

  it("sees every change at once, and nothing of another tenant", async () => {
    opened = await open();
    deps = opened.deps;
    try {
      expect(await deps.reader.resolve(tenant, "home")).toBeUndefined();
      await putWorkspace(deps, key(), { name: "home", path: "", runtime: undefined });
      expect(await deps.reader.resolve("other", "home")).toBeUndefined();
      const rules = async () =>
        (await deps.reader.resolve(tenant, "home"))?.documents.map(({ content }) => content);
      expect(await rules()).toEqual([]);
      await put(["AGENTS.md", "one"]);
      expect(await rules()).toEqual(["one"]);
      await put(["AGENTS.md", "two"]);
      expect(await rules()).toEqual(["two"]);
      await putDocuments(deps, key(), { workspace: "home", documents: [], removePaths: ["AGENTS.md"] });
      expect(await rules()).toEqual([]);
      await deleteWorkspace(deps, key(), "home");
      expect(await rules()).toBeUndefined();
    } finally {
      await opened.close();
    }
  });

  it("gives a toolset with the tokens of each tool, without a query for a resolved workspace", async () => {
    opened = await open();
    deps = opened.deps;
    try {
      await putWorkspace(deps, key(), { name: "home", path: "", runtime: undefined });
      await putToolset(deps, key(), "home", toolset("main", "search", "stop"));
      const found = await deps.reader.toolset(tenant, "home", "main");
      expect(found!.tools.map(({ name }) => name)).toEqual(["search", "stop"]);
      expect(found!.toolTokens).toEqual([
        { name: 1, description: 2, schema: 1 },
        { name: 1, description: 2, schema: 1 },
      ]);
      expect(found!.o200kTokens).toBe(8);
      const view = (await deps.reader.resolve(tenant, "home"))!;
      opened.queries();
      expect(await deps.reader.toolsetOf(tenant, view, "main")).toBe(found);
      expect(opened.queries()).toBe(0);
      expect(await deps.reader.toolset(tenant, "home", "none")).toBeUndefined();
      expect(await deps.reader.toolset(tenant, "none", "main")).toBeUndefined();
      await deleteToolset(deps, key(), "home", "main");
      expect(await deps.reader.toolset(tenant, "home", "main")).toBeUndefined();
    } finally {
      await opened.close();
    }
  });

  it("stores the same content once in a tenant", async () => {
    opened = await open();
    deps = opened.deps;
    try {
      for (const tenantId of [tenant, "other"]) {
        await putWorkspace(deps, key(tenantId), { name: "home", path: "", runtime: undefined });
        const given = documents(["a.md", "same"], ["b.md", "same"]);
        await putDocuments(deps, key(tenantId), { workspace: "home", documents: given, removePaths: [] });
      }
      const hashes = (await deps.store.find(tenant, "home")).documents.map(({ hash }) => hash);
      expect(new Set(hashes.map((hash) => Buffer.from(hash).toString("hex"))).size).toBe(1);
      const contents = await deps.store.contents(tenant, hashes);
      expect(contents.map(String)).toEqual(["same", "same"]);
    } finally {
      await opened.close();
    }
  });
});
