import { createHash } from "node:crypto";
import { status as Code, credentials, Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  CapabilityState,
  DocumentKind,
  LoopRule,
  Toolset,
} from "../../src/contract/gen/quire/v1/workspace.js";
import { countTokens } from "../../src/tokens/count-tokens.js";
import { startPostgres } from "../support/postgres.js";
import { failure, startTestServer, type TestServer } from "../support/server.js";
import { capability, tool, type WorkspaceClient, workspaceCalls } from "./workspace-calls.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const databases = [
  { name: "SQLite", flags: {} },
  ...(postgres ? [{ name: "PostgreSQL", flags: { database: postgres.url } }] : []),
];

const sha256 = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest();

describe.each(databases)("WorkspaceService on $name", ({ flags }) => {
  let server: TestServer;
  let client: WorkspaceClient;

  beforeAll(async () => {
    server = await startTestServer(flags);
    client = workspaceCalls(server.address);
  });

  afterAll(async () => {
    client?.close();
    await server?.stop();
  });

  const make = async (name: string) => (await client.putWorkspace({ name })).workspace!;
  const put = async (workspace: string, path: string, content: string, kind?: DocumentKind) =>
    (await client.putDocuments({ workspace, documents: [{ path, content, ...(kind ? { kind } : {}) }] }))
      .documents[0]!;

  test("a put makes a workspace, and a further one changes its path and runtime facts only", async () => {
    const made = await make("facts");
    expect(made).toMatchObject({ name: "facts", path: "", runtime: undefined, documents: [], toolsets: [] });
    await put("facts", "AGENTS.md", "Be kind.");
    const runtime = { host: "h", os: "Linux 6", arch: "x64" };
    const { workspace } = await client.putWorkspace({ name: "facts", path: "/w", runtime });
    expect(workspace).toMatchObject({ id: made.id, path: "/w", runtime, createTime: made.createTime });
    expect(workspace!.documents).toMatchObject([{ path: "AGENTS.md", content: "", version: 1 }]);
    expect((await client.getWorkspace({ name: "facts" })).workspace).toEqual(workspace);
  });

  test("a put that changes nothing leaves the time of the last change", async () => {
    await client.putWorkspace({ name: "still", path: "/w" });
    const { workspace } = await client.putWorkspace({ name: "still", path: "/w" });
    expect(workspace!.updateTime).toEqual(workspace!.createTime);
  });

  test("lists are by name, a page at a time, without documents", async () => {
    for (const name of ["list b", "list a", `list ${"\u{1F600}".repeat(251)}`]) await make(name);
    await put("list a", "AGENTS.md", "Be kind.");
    await client.putToolset({ workspace: "list a", toolset: { name: "t", tools: [tool("x")] } });
    const found = [];
    let pageToken = "";
    do {
      const page = await client.listWorkspaces({ pageSize: 1, pageToken });
      expect(page.workspaces).toHaveLength(1);
      found.push(...page.workspaces);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    const names = found.map(({ name }) => name);
    expect(names).toEqual([...names].sort());
    expect(names.filter((name) => name.startsWith("list"))).toHaveLength(3);
    expect(found.find(({ name }) => name === "list a")).toMatchObject({ documents: [], toolsets: ["t"] });
  });

  test("a document has a version, a hash, a size and its exact tokens", async () => {
    await make("docs");
    const content = "# Rules\n\nBe kind. Grüße 👋";
    const written = await put("docs", "AGENTS.md", content);
    expect(written).toMatchObject({
      path: "AGENTS.md",
      kind: DocumentKind.RULES,
      content: "",
      version: 1,
      hash: sha256(content),
      sizeBytes: Buffer.byteLength(content),
      o200kTokens: countTokens(content, "o200k_base"),
    });
    const { document } = await client.getDocument({ workspace: "docs", path: "AGENTS.md" });
    expect(document).toEqual({ ...written, content });
  });

  test("the same content keeps its version, other content counts it up, and so does one that comes back", async () => {
    await make("versions");
    expect((await put("versions", "a.md", "one")).version).toBe(1);
    const before = (await client.getWorkspace({ name: "versions" })).workspace!;
    expect((await put("versions", "a.md", "one")).version).toBe(1);
    expect((await client.getWorkspace({ name: "versions" })).workspace).toEqual(before);
    expect((await put("versions", "a.md", "two")).version).toBe(2);
    const removal = { workspace: "versions", removePaths: ["a.md", "a.md", "none.md"] };
    expect((await client.putDocuments(removal)).removed).toBe(1);
    expect((await client.putDocuments(removal)).removed).toBe(0);
    expect((await client.getWorkspace({ name: "versions" })).workspace!.documents).toEqual([]);
    expect((await put("versions", "a.md", "two")).version).toBe(2);
    expect((await put("versions", "a.md", "one")).version).toBe(3);
  });

  test("a kind goes by the document's name unless it is given, and may change without a new version", async () => {
    await make("kinds");
    const kinds = {
      "AGENTS.md": DocumentKind.RULES,
      "SOUL.md": DocumentKind.SOUL,
      "IDENTITY.md": DocumentKind.AGENT_IDENTITY,
      "user/IDENTITY.md": DocumentKind.USER_IDENTITY,
      "USER.md": DocumentKind.USER_IDENTITY,
      "docs/AGENTS.md": DocumentKind.OTHER,
      "agents.md": DocumentKind.OTHER,
    };
    const documents = Object.keys(kinds).map((path) => ({ path, content: path }));
    const answer = await client.putDocuments({ workspace: "kinds", documents });
    expect(Object.fromEntries(answer.documents.map(({ path, kind }) => [path, kind]))).toEqual(kinds);
    const changed = await put("kinds", "agents.md", "agents.md", DocumentKind.RULES);
    expect(changed).toMatchObject({ kind: DocumentKind.RULES, version: 1 });
  });

  test("documents are written and removed all at once, or not at all", async () => {
    await make("atomic");
    await put("atomic", "old.md", "old");
    const bad = client.putDocuments({
      workspace: "atomic",
      documents: [{ path: "new.md", content: "new" }, { path: "" }],
      removePaths: ["old.md"],
    });
    expect(await failure(bad)).toMatchObject({ reason: "INVALID_FIELD", fields: ["documents[1].path"] });
    const paths = async () =>
      (await client.getWorkspace({ name: "atomic" })).workspace!.documents.map(({ path }) => path);
    expect(await paths()).toEqual(["old.md"]);
    const documents = [{ path: "new.md", content: "new" }];
    await client.putDocuments({ workspace: "atomic", documents, removePaths: ["old.md"] });
    expect(await paths()).toEqual(["new.md"]);
  });

  test("any text comes back as it was, a large one and an empty one, too", async () => {
    await make("texts");
    for (const content of ["", "a\0b\r\n\u2028", "\uFEFFmarked", "word ".repeat(200_000)]) {
      await put("texts", "text.md", content);
      expect((await client.getDocument({ workspace: "texts", path: "text.md" })).document!.content).toBe(
        content,
      );
    }
  });

  test("writers at once each get a version of their own", async () => {
    await make("busy");
    const texts = Array.from({ length: 8 }, (_, index) => `text ${index}`);
    const versions = await Promise.all(texts.map(async (text) => (await put("busy", "a.md", text)).version));
    expect(versions.sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test("a write is idempotent by its request id, whatever the caller says of what the server sets", async () => {
    await make("again");
    const request = { requestId: "r1", workspace: "again", documents: [{ path: "a.md", content: "one" }] };
    const first = await client.putDocuments(request);
    await put("again", "a.md", "two");
    const echoed = {
      ...request,
      documents: [{ ...first.documents[0]!, kind: DocumentKind.UNSPECIFIED, content: "one" }],
    };
    expect(await client.putDocuments(echoed)).toEqual(first);
    expect((await client.getDocument({ workspace: "again", path: "a.md" })).document!.content).toBe("two");
    const other = client.putDocuments({ ...request, removePaths: ["x"] });
    expect(await failure(other)).toMatchObject({ reason: "REQUEST_ID_REUSED" });
  });

  test("a snapshot is empty until one is put, and comes back in order with its hash and time", async () => {
    await make("able");
    const empty = (await client.getCapabilities({ workspace: "able" })).snapshot!;
    expect(empty).toMatchObject({ capabilities: [], credentialsConfigured: 0, snapshotTime: undefined });
    const given = {
      capabilities: [
        capability("b", "Two"),
        { ...capability("a", "One", CapabilityState.BROKEN), reason: "token" },
      ],
      credentialsConfigured: 3,
      credentialsBroken: ["x"],
    };
    const { snapshot } = await client.putCapabilities({ workspace: "able", snapshot: given });
    expect(snapshot).toMatchObject({ ...given, hash: expect.any(Buffer), snapshotTime: expect.any(Date) });
    expect((await client.getCapabilities({ workspace: "able" })).snapshot).toEqual(snapshot);
    expect((await client.getWorkspace({ name: "able" })).workspace!.capabilityCount).toBe(2);
    const again = await client.putCapabilities({ workspace: "able", snapshot: snapshot! });
    expect(again.snapshot!.hash).toEqual(snapshot!.hash);
  });

  test("a toolset is kept verbatim and versioned, with the hash of its stored bytes and its exact tokens", async () => {
    await make("tools");
    const schema = '{ "type":"object",  "properties": {"q": {"type": "string"}} }';
    const tools = [tool("search", { description: "Finds things.", inputSchemaJson: schema }), tool("stop")];
    const rules = [{ tool: "stop", rule: { $case: "loop" as const, value: LoopRule.EXIT } }];
    const { toolset } = await client.putToolset({
      workspace: "tools",
      toolset: { name: "main", tools, rules },
    });
    const texts = ["search", "Finds things.", schema, "stop"];
    expect(toolset).toMatchObject({ name: "main", tools, rules, version: 1, updateTime: expect.any(Date) });
    expect(toolset!.o200kTokens).toBe(texts.reduce((sum, text) => sum + countTokens(text, "o200k_base"), 0));
    expect(toolset!.hash).toEqual(
      sha256(Toolset.encode(Toolset.create({ name: "main", tools, rules })).finish()),
    );
    expect((await client.getToolset({ workspace: "tools", name: "main" })).toolset).toEqual(toolset);
    expect((await client.putToolset({ workspace: "tools", toolset: toolset! })).toolset).toEqual(toolset);
    const fewer = await client.putToolset({
      workspace: "tools",
      toolset: { name: "main", tools: [tools[0]!] },
    });
    expect(fewer.toolset!.version).toBe(2);
    expect((await client.getWorkspace({ name: "tools" })).workspace!.toolsets).toEqual(["main"]);
    await client.deleteToolset({ workspace: "tools", name: "main" });
    expect((await client.getWorkspace({ name: "tools" })).workspace!.toolsets).toEqual([]);
    const back = await client.putToolset({ workspace: "tools", toolset: { name: "main", tools } });
    expect(back.toolset!.version).toBe(3);
  });

  test("a workspace goes with all that is in it, and one of the same name starts anew", async () => {
    const { id } = await make("gone");
    await put("gone", "a.md", "one");
    await put("gone", "b.md", "two");
    await client.putDocuments({ workspace: "gone", removePaths: ["b.md"] });
    expect(await client.deleteWorkspace({ name: "gone" })).toEqual({ deletedDocuments: 1 });
    const again = await make("gone");
    expect(again.id).not.toBe(id);
    expect((await put("gone", "a.md", "other")).version).toBe(1);
  });

  test("errors: WORKSPACE_NOT_FOUND for every call that needs one", async () => {
    const workspace = "none";
    const snapshot = {};
    const calls = [
      () => client.getWorkspace({ name: workspace }),
      () => client.deleteWorkspace({ name: workspace }),
      () => client.putDocuments({ workspace }),
      () => client.getDocument({ workspace, path: "a" }),
      () => client.putCapabilities({ workspace, snapshot }),
      () => client.getCapabilities({ workspace }),
      () => client.putToolset({ workspace, toolset: { name: "t" } }),
      () => client.getToolset({ workspace, name: "t" }),
      () => client.deleteToolset({ workspace, name: "t" }),
    ];
    for (const call of calls) {
      const metadata = { workspace };
      expect(await failure(call())).toMatchObject({
        code: Code.NOT_FOUND,
        reason: "WORKSPACE_NOT_FOUND",
        metadata,
      });
    }
  });

  test("errors: DOCUMENT_NOT_FOUND, for a removed one, too", async () => {
    await make("sparse");
    await put("sparse", "a.md", "one");
    await client.putDocuments({ workspace: "sparse", removePaths: ["a.md"] });
    for (const path of ["a.md", "b.md"]) {
      const error = await failure(client.getDocument({ workspace: "sparse", path }));
      expect(error).toMatchObject({ code: Code.NOT_FOUND, reason: "DOCUMENT_NOT_FOUND", metadata: { path } });
    }
  });

  test("errors: TOOLSET_NOT_FOUND, for a removed one, too", async () => {
    await make("bare");
    await client.putToolset({ workspace: "bare", toolset: { name: "t" } });
    await client.deleteToolset({ workspace: "bare", name: "t" });
    for (const name of ["t", "u"]) {
      const expected = { code: Code.NOT_FOUND, reason: "TOOLSET_NOT_FOUND", metadata: { toolset: name } };
      expect(await failure(client.getToolset({ workspace: "bare", name }))).toMatchObject(expected);
      expect(await failure(client.deleteToolset({ workspace: "bare", name }))).toMatchObject(expected);
    }
  });

  test("errors: PAGE_TOKEN_INVALID for a token of nobody", async () => {
    const error = await failure(client.listWorkspaces({ pageToken: "nonsense" }));
    expect(error).toMatchObject({ reason: "PAGE_TOKEN_INVALID", fields: ["page_token"] });
  });
});

test("the server says that the service is up", async () => {
  const { service } = await import("grpc-health-check");
  const { Client } = await import("@grpc/grpc-js");
  const server = await startTestServer();
  const health = new Client(server.address, credentials.createInsecure());
  try {
    const { Check: check } = service as unknown as Record<"Check", Method>;
    const answer = await new Promise((resolve, reject) => {
      const { path, requestSerialize, responseDeserialize } = check;
      const request = { service: "quire.v1.WorkspaceService" };
      health.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        new Metadata(),
        (error, reply) => (error ? reject(error) : resolve(reply)),
      );
    });
    expect(answer).toMatchObject({ status: "SERVING" });
  } finally {
    health.close();
    await server.stop();
  }
});

interface Method {
  readonly path: string;
  readonly requestSerialize: (value: object) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => object;
}
