import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  CapabilityState,
  LoopRule,
  type Tool,
  type ToolRule,
} from "../../src/contract/gen/quire/v1/workspace.js";
import { failure, startTestServer, type TestServer } from "../support/server.js";
import { capability, tool, type WorkspaceClient, workspaceCalls } from "./workspace-calls.js";

let server: TestServer;
let client: WorkspaceClient;
const workspace = "w";

beforeAll(async () => {
  server = await startTestServer();
  client = workspaceCalls(server.address);
  await client.putWorkspace({ name: workspace });
});

afterAll(async () => {
  client?.close();
  await server?.stop();
});

const long = (length: number) => "x".repeat(length);
const toolset = (tools: readonly Tool[], rules: readonly ToolRule[] = []) =>
  client.putToolset({ workspace, toolset: { name: "t", tools, rules } });
const snapshot = (...capabilities: readonly ReturnType<typeof capability>[]) =>
  client.putCapabilities({ workspace, snapshot: { capabilities } });
const rule = (value: ToolRule["rule"], name = "x"): readonly ToolRule[] => [{ tool: name, rule: value }];

/** Each is one value out of its bounds, with the field that the error must name. */
const refused: readonly (readonly [field: string, call: () => Promise<unknown>])[] = [
  ["request_id", () => client.putWorkspace({ name: "a", requestId: long(129) })],
  ["name", () => client.putWorkspace({ name: "" })],
  ["name", () => client.putWorkspace({ name: long(257) })],
  ["name", () => client.putWorkspace({ name: "a\0b" })],
  ["name", () => client.putWorkspace({ name: "a\nb" })],
  ["path", () => client.putWorkspace({ name: "a", path: long(4_097) })],
  ["runtime.host", () => client.putWorkspace({ name: "a", runtime: { host: long(257) } })],
  ["runtime.os", () => client.putWorkspace({ name: "a", runtime: { os: long(129) } })],
  ["runtime.arch", () => client.putWorkspace({ name: "a", runtime: { arch: long(65) } })],
  ["name", () => client.getWorkspace({})],
  ["name", () => client.deleteWorkspace({})],
  ["page_size", () => client.listWorkspaces({ pageSize: 1_001 })],
  ["page_token", () => client.listWorkspaces({ pageToken: long(2_049) })],
  ["workspace", () => client.putDocuments({})],
  [
    "documents",
    () =>
      client.putDocuments({
        workspace,
        documents: Array.from({ length: 1_025 }, (_, at) => ({ path: `${at}` })),
      }),
  ],
  ["documents[0].path", () => client.putDocuments({ workspace, documents: [{ path: long(1_025) }] })],
  ...[
    "a\tb",
    "a\0b",
    "a\u009bb",
    "/etc/passwd",
    "/",
    "..",
    "../a.md",
    "a/../../b.md",
    "a/..",
    ".",
    "./a.md",
    "a/./b.md",
    "a//b.md",
    "a/",
    "a\\b.md",
    "..\\a.md",
    "C:/a.md",
    "c:a.md",
  ].map(
    (path) => ["documents[0].path", () => client.putDocuments({ workspace, documents: [{ path }] })] as const,
  ),
  [
    "documents[0].content",
    () => client.putDocuments({ workspace, documents: [{ path: "a", content: long(1_048_577) }] }),
  ],
  ["documents[1].path", () => client.putDocuments({ workspace, documents: [{ path: "a" }, { path: "a" }] })],
  [
    "remove_paths",
    () => client.putDocuments({ workspace, removePaths: Array.from({ length: 1_025 }, () => "a") }),
  ],
  ["remove_paths[0]", () => client.putDocuments({ workspace, removePaths: [""] })],
  [
    "remove_paths[0]",
    () => client.putDocuments({ workspace, documents: [{ path: "a" }], removePaths: ["a"] }),
  ],
  ["path", () => client.getDocument({ workspace })],
  ["snapshot", () => client.putCapabilities({ workspace })],
  [
    "snapshot.capabilities",
    () => snapshot(...Array.from({ length: 4_097 }, (_, at) => capability(`${at}`, "c"))),
  ],
  ["snapshot.capabilities[0].name", () => snapshot(capability("", "c"))],
  ["snapshot.capabilities[1].name", () => snapshot(capability("a", "c"), capability("a", "d"))],
  ["snapshot.capabilities[0].category", () => snapshot(capability("a", ""))],
  ["snapshot.capabilities[0].category", () => snapshot(capability("a", long(129)))],
  ["snapshot.capabilities[0].state", () => snapshot(capability("a", "c", CapabilityState.UNSPECIFIED))],
  ["snapshot.capabilities[0].reason", () => snapshot({ ...capability("a", "c"), reason: long(1_025) })],
  ["snapshot.capabilities[0].hint", () => snapshot({ ...capability("a", "c"), hint: long(1_025) })],
  [
    "snapshot.credentials_broken[0]",
    () => client.putCapabilities({ workspace, snapshot: { credentialsBroken: [""] } }),
  ],
  [
    "snapshot.credentials_broken",
    () =>
      client.putCapabilities({
        workspace,
        snapshot: { credentialsBroken: Array.from({ length: 1_025 }, () => "a") },
      }),
  ],
  ["workspace", () => client.getCapabilities({})],
  ["toolset", () => client.putToolset({ workspace })],
  ["toolset.name", () => client.putToolset({ workspace, toolset: {} })],
  ["toolset.tools", () => toolset(Array.from({ length: 1_025 }, (_, at) => tool(`${at}`)))],
  ["toolset.tools[0].name", () => toolset([tool("")])],
  ["toolset.tools[1].name", () => toolset([tool("a"), tool("a")])],
  ["toolset.tools[0].description", () => toolset([tool("a", { description: long(65_537) })])],
  ["toolset.tools[0].input_schema_json", () => toolset([tool("a", { inputSchemaJson: "[]" })])],
  ["toolset.tools[0].input_schema_json", () => toolset([tool("a", { inputSchemaJson: '{"a":' })])],
  [
    "toolset.tools[0].input_schema_json",
    () => toolset([tool("a", { inputSchemaJson: `{"a":"${long(262_144)}"}` })]),
  ],
  ["toolset.tools[0].capability", () => toolset([tool("a", { capability: long(257) })])],
  ["toolset.tools[0].required_permissions[0]", () => toolset([tool("a", { requiredPermissions: [""] })])],
  [
    "toolset.rules",
    () =>
      toolset(
        [],
        Array.from({ length: 1_025 }, () => rule({ $case: "loop", value: LoopRule.EXIT })[0]!),
      ),
  ],
  ["toolset.rules[0]", () => toolset([], rule(undefined))],
  ["toolset.rules[0].tool", () => toolset([], rule({ $case: "loop", value: LoopRule.EXIT }, ""))],
  ["toolset.rules[0].loop", () => toolset([], rule({ $case: "loop", value: LoopRule.UNSPECIFIED }))],
  ["toolset.rules[0].max_calls", () => toolset([], rule({ $case: "maxCalls", value: 0 }))],
  ["toolset.rules[0].max_calls", () => toolset([], rule({ $case: "maxCalls", value: 1_000_001 }))],
  ["toolset.rules[0].requires_prior", () => toolset([], rule({ $case: "requiresPrior", value: "" }))],
  ["name", () => client.getToolset({ workspace })],
  ["name", () => client.deleteToolset({ workspace })],
];

describe("a value out of its bounds is refused with its field", () => {
  test.each(refused.map(([field, call], index) => ({ index, field, call })))("$index: $field", async ({
    field,
    call,
  }) => {
    expect(await failure(call())).toMatchObject({
      reason: "INVALID_FIELD",
      fields: [field],
      metadata: { field },
    });
  });
});

test("a path that leads down from the root is taken, however it is spelled", async () => {
  const paths = [
    "...",
    "..a/b..",
    ".hidden/x.md",
    "a b/c.md",
    "日本/ü.md",
    "notes/10:30.md",
    "user/IDENTITY.md",
  ];
  const { documents } = await client.putDocuments({ workspace, documents: paths.map((path) => ({ path })) });
  expect(documents.map(({ path }) => path)).toEqual(paths);
});

test("a path that no document may have any more can still be read and removed", async () => {
  expect(await failure(client.getDocument({ workspace, path: "../a.md" }))).toMatchObject({
    reason: "DOCUMENT_NOT_FOUND",
  });
  expect(await client.putDocuments({ workspace, removePaths: ["../a.md"] })).toMatchObject({ removed: 0 });
});

test("what is just within the bounds is taken", async () => {
  const name = "\u{1F600}".repeat(256);
  const runtime = { host: long(256), os: long(128), arch: long(64) };
  await client.putWorkspace({ name, path: long(4_096), runtime, requestId: long(128) });
  await client.putDocuments({
    workspace: name,
    documents: [{ path: long(1_024), content: long(1_048_576) }],
  });
  const description = long(65_536);
  const inputSchemaJson = `{"a":"${long(262_144 - 8)}"}`;
  const tools = [tool("a", { description, inputSchemaJson }), tool("b", { inputSchemaJson: "{}" })];
  await client.putToolset({
    workspace: name,
    toolset: { name: long(256), tools, rules: rule({ $case: "maxCalls", value: 1_000_000 }) },
  });
  await client.putCapabilities({
    workspace: name,
    snapshot: {
      capabilities: [{ ...capability("a", "c"), hint: "two\nlines" }],
      credentialsConfigured: 4_294_967_295,
    },
  });
});
