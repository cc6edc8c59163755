import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TurnScope } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { systemIds } from "../../src/domain/clock.js";
import { type Database, openDatabase, type PrismaTransaction } from "../../src/storage/database.js";
import { body, type CapsuleCalls, connectCapsules } from "../capsule/capsule-calls.js";
import { type LedgerCalls, ledgerCalls } from "../ledger/ledger-calls.js";
import { user } from "../support/messages.js";
import { startPostgres } from "../support/postgres.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { type WorkspaceClient, workspaceCalls } from "../workspace/workspace-calls.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const largestPage = 1_000;
const largestWrite = 1_024;
/** How many more rows there are than the one that the service wrote: with it a little more than a page. */
const copies = largestPage + 6;

interface Services {
  readonly ledger: LedgerCalls;
  readonly capsules: CapsuleCalls;
  readonly workspaces: WorkspaceClient;
}

interface Page {
  readonly ids: readonly string[];
  readonly nextPageToken: string;
}

interface ListCase {
  readonly name: string;
  /** Has the service write one, and copies it. */
  seed(services: Services, copy: Copy): Promise<void>;
  page(services: Services, request: { pageSize: number; pageToken: string }): Promise<Page>;
}

type Copy = (write: (tx: PrismaTransaction) => Promise<unknown>) => Promise<unknown>;

function copiesOf<Row>(row: Row, changes: (index: number) => Partial<Row>): Row[] {
  return Array.from({ length: copies }, (_, index) => ({ ...row, ...changes(index + 1) }));
}

const nameOf = (index: number) => `n-${String(index).padStart(4, "0")}`;

async function seedTurns({ ledger }: Services, copy: Copy): Promise<void> {
  const { id: sessionId } = await ledger.session({ label: "long" });
  const { id } = await ledger.turn("long", "", [user("hello")]);
  await copy(async (tx) => {
    const first = await tx.turn.findFirstOrThrow({ where: { id } });
    const ids = [id, ...Array.from({ length: copies }, () => systemIds.next())];
    const turns = copiesOf(first, (index) => ({
      id: ids[index]!,
      parentTurnId: ids[index - 1]!,
      depth: index + 1,
    }));
    await tx.turn.createMany({ data: turns });
    const head = { headTurnId: ids.at(-1)!, headDepth: ids.length, headSequence: ids.length };
    await tx.session.updateMany({ where: { id: sessionId }, data: head });
    const move = await tx.headMove.findFirstOrThrow({ where: { sessionId } });
    await tx.headMove.createMany({
      data: copiesOf(move, (index) => ({ sequence: index + 1, toTurnId: ids[index]! })),
    });
  });
}

function turnList(name: string, scope: TurnScope, seed: ListCase["seed"]): ListCase {
  return {
    name,
    seed,
    async page({ ledger }, request) {
      const { turns, nextPageToken } = await ledger.listTurns({ session: "long", scope, ...request });
      return { ids: turns.map(({ id }) => id), nextPageToken };
    },
  };
}

const lists: readonly ListCase[] = [
  {
    name: "ListSessions, each with its aliases",
    async seed({ ledger }, copy) {
      const { id } = await ledger.session({ label: nameOf(0) });
      await ledger.aliasSession({ alias: `also-${nameOf(0)}`, session: id });
      await copy(async (tx) => {
        const session = await tx.session.findFirstOrThrow({ where: { id } });
        const alias = await tx.sessionAlias.findFirstOrThrow({ where: { sessionId: id } });
        const sessions = copiesOf(session, (index) => ({ id: systemIds.next(), label: nameOf(index) }));
        await tx.session.createMany({ data: sessions });
        const aliases = sessions.map((row) => ({
          ...alias,
          sessionId: row.id,
          alias: `also-${row.label}`,
        }));
        await tx.sessionAlias.createMany({ data: aliases });
      });
    },
    async page({ ledger }, request) {
      const { sessions, nextPageToken } = await ledger.listSessions({ labelPrefix: "n-", ...request });
      for (const { label, aliases } of sessions) expect(aliases).toEqual([`also-${label}`]);
      return { ids: sessions.map(({ id }) => id), nextPageToken };
    },
  },
  turnList("ListTurns of the thread", TurnScope.THREAD, seedTurns),
  turnList("ListTurns of all that was written", TurnScope.WRITTEN, async () => undefined),
  {
    name: "ListWorkspaces, each with its toolsets",
    async seed({ workspaces }, copy) {
      await workspaces.putWorkspace({ name: nameOf(0), path: "/" });
      await workspaces.putToolset({ workspace: nameOf(0), toolset: { name: `of-${nameOf(0)}` } });
      await copy(async (tx) => {
        const workspace = await tx.workspace.findFirstOrThrow({ where: { name: nameOf(0) } });
        const toolset = await tx.workspaceToolset.findFirstOrThrow({ where: { workspaceId: workspace.id } });
        const rows = copiesOf(workspace, (index) => ({ id: systemIds.next(), name: nameOf(index) }));
        await tx.workspace.createMany({ data: rows });
        await tx.workspaceToolset.createMany({
          data: rows.map(({ id, name }) => ({ ...toolset, workspaceId: id, name: `of-${name}` })),
        });
      });
    },
    async page({ workspaces }, request) {
      const page = await workspaces.listWorkspaces(request);
      for (const { name, toolsets } of page.workspaces) expect(toolsets).toEqual([`of-${name}`]);
      return { ids: page.workspaces.map(({ name }) => name), nextPageToken: page.nextPageToken };
    },
  },
  {
    name: "ListCapsules",
    async seed({ capsules }, copy) {
      await capsules.putCapsule({ name: nameOf(0), body: body() });
      await copy(async (tx) => {
        const head = await tx.capsuleHead.findFirstOrThrow({ where: { name: nameOf(0) } });
        const version = await tx.capsuleVersion.findFirstOrThrow({ where: { capsuleId: head.id } });
        const heads = copiesOf(head, (index) => ({ id: systemIds.next(), name: nameOf(index) }));
        await tx.capsuleHead.createMany({ data: heads });
        await tx.capsuleVersion.createMany({ data: heads.map(({ id }) => ({ ...version, capsuleId: id })) });
      });
    },
    async page({ capsules }, request) {
      const page = await capsules.listCapsules(request);
      return { ids: page.capsules.map(({ name }) => name), nextPageToken: page.nextPageToken };
    },
  },
  {
    name: "ListCapsuleVersions",
    async seed({ capsules }, copy) {
      await capsules.putCapsule({ name: "versioned", body: body() });
      await copy(async (tx) => {
        const head = await tx.capsuleHead.findFirstOrThrow({ where: { name: "versioned" } });
        const version = await tx.capsuleVersion.findFirstOrThrow({ where: { capsuleId: head.id } });
        await tx.capsuleVersion.createMany({
          data: copiesOf(version, (index) => ({ version: index + 1 })),
        });
        await tx.capsuleHead.updateMany({ where: { id: head.id }, data: { latestVersion: copies + 1 } });
      });
    },
    async page({ capsules }, request) {
      const page = await capsules.listCapsuleVersions({ name: "versioned", ...request });
      return { ids: page.capsules.map(({ version }) => String(version)), nextPageToken: page.nextPageToken };
    },
  },
];

const databases = [
  ["SQLite", undefined],
  ["PostgreSQL", postgres],
] as const;

describe.each(databases)("on %s, over more than a page,", (name, given) => {
  const isMissing = name === "PostgreSQL" && given === undefined;
  let server: TestServer;
  let database: Database;
  let services: Services;

  beforeAll(async () => {
    if (isMissing) return;
    server = await startTestServer(given ? { database: given.url } : {});
    database = await openDatabase({ url: server.config.database, poolSize: 2 });
    services = {
      ledger: ledgerCalls(server.ledger),
      capsules: connectCapsules(server.address),
      workspaces: workspaceCalls(server.address),
    };
  });
  afterAll(async () => {
    services?.capsules.close();
    services?.workspaces.close();
    await database?.close();
    await server?.stop();
  });

  test.skipIf(isMissing).each(lists)(
    "the largest page of $name is given, and the rest after it",
    async (list) => {
      await list.seed(services, (write) => database.transaction(write));
      const first = await list.page(services, { pageSize: largestPage, pageToken: "" });
      expect(first.ids).toHaveLength(largestPage);
      const rest = await list.page(services, { pageSize: largestPage, pageToken: first.nextPageToken });
      expect(rest.nextPageToken).toBe("");
      expect(new Set([...first.ids, ...rest.ids]).size).toBeGreaterThan(copies);
    },
  );

  test.skipIf(isMissing)("a session of more turns than a page is erased", async () => {
    const erased = await services.ledger.deleteSession({ session: "long" });
    expect(erased).toMatchObject({ erasedTurns: copies + 1 });
  });

  test.skipIf(isMissing)("as many documents as a call may hold are written, listed and removed", async () => {
    const { workspaces } = services;
    const documents = (folder: string) =>
      Array.from({ length: largestWrite }, (_, index) => ({
        path: `${folder}/${index}.md`,
        content: `${folder} ${index}`,
      }));
    const paths = (folder: string) => documents(folder).map(({ path }) => path);
    const workspace = "library";
    await workspaces.putWorkspace({ name: workspace, path: "/" });
    await workspaces.putDocuments({ workspace, documents: documents("a") });
    await workspaces.putDocuments({ workspace, documents: documents("b"), removePaths: paths("a") });
    const found = await workspaces.getWorkspace({ name: workspace });
    expect(found.workspace!.documents.map(({ path }) => path).sort()).toEqual(paths("b").sort());
    await workspaces.putDocuments({ workspace, documents: documents("a") });
    const both = await workspaces.getWorkspace({ name: workspace });
    expect(both.workspace!.documents).toHaveLength(2 * largestWrite);
  });
});
