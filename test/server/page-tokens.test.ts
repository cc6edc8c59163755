import { beforeAll, describe, expect, test } from "vitest";
import { TurnScope } from "../../src/contract/gen/quire/v1/ledger_service.js";
import type { Quire } from "../../src/index.js";
import { overGrpc } from "../assembly/over-grpc.js";
import { user } from "../support/messages.js";
import { failure, startTestServer } from "../support/server.js";

let quire: Quire;

beforeAll(async () => {
  const server = await startTestServer();
  quire = overGrpc(server.address);
  await quire.workspaces.putWorkspace({ name: "alpha-desk", path: "/a" });
  await quire.workspaces.putWorkspace({ name: "beta-desk", path: "/b" });
  for (const name of ["alpha", "alpha", "beta", "beta"])
    await quire.capsules.putCapsule({ name, body: { persona: { corePrompt: `You are ${name}.` } } });
  for (const label of ["one", "two"]) {
    await quire.ledger.createSession({ label });
    const { turn } = await quire.ledger.recordTurn({ session: label, messages: [user("a")] });
    await quire.ledger.recordTurn({ session: label, parentTurnId: turn!.id, messages: [user("b")] });
  }
  return async () => {
    await quire.close();
    await server.stop();
  };
});

type List = (pageToken: string) => Promise<{ readonly nextPageToken: string }>;
const page = (pageToken: string) => ({ pageSize: 1, pageToken });

const lists: Readonly<Record<string, List>> = {
  ListSessions: (token) => quire.ledger.listSessions(page(token)),
  "ListTurns of one thread": (token) => quire.ledger.listTurns({ session: "one", ...page(token) }),
  "ListTurns of another thread": (token) => quire.ledger.listTurns({ session: "two", ...page(token) }),
  "ListTurns written through a session": (token) =>
    quire.ledger.listTurns({ session: "one", scope: TurnScope.WRITTEN, ...page(token) }),
  ListCapsules: (token) => quire.capsules.listCapsules(page(token)),
  "ListCapsuleVersions of one": (token) =>
    quire.capsules.listCapsuleVersions({ name: "alpha", ...page(token) }),
  "ListCapsuleVersions of another": (token) =>
    quire.capsules.listCapsuleVersions({ name: "beta", ...page(token) }),
  ListWorkspaces: (token) => quire.workspaces.listWorkspaces(page(token)),
  ListModels: (token) => quire.assembly.listModels(page(token)),
};

const invalid = { reason: "PAGE_TOKEN_INVALID", fields: ["page_token"] };

describe.each(Object.entries(lists))("a page token of %s", (name, list) => {
  test("says nothing to who reads it, and brings the next page", async () => {
    const { nextPageToken } = await list("");
    expect(nextPageToken).toMatch(/^[\w-]{12,}$/);
    expect(nextPageToken).not.toMatch(/alpha|beta|desk|thread|sessions/);
    await expect(list(nextPageToken)).resolves.toBeDefined();
  });

  test("is refused when it is damaged", async () => {
    const { nextPageToken: token } = await list("");
    const changed = `${token.slice(0, 14)}${token[14] === "A" ? "B" : "A"}${token.slice(15)}`;
    for (const damaged of [changed, token.slice(0, -2), `${token}AA`, token.slice(1), "x", `${token}=`])
      expect(await failure(list(damaged)), damaged).toMatchObject(invalid);
  });

  test("is refused by every other list", async () => {
    const { nextPageToken } = await list("");
    for (const [other, read] of Object.entries(lists).filter(([key]) => key !== name))
      expect(await failure(read(nextPageToken)), other).toMatchObject(invalid);
  });
});

test("a page token fits its bound where names are as long as they may be", async () => {
  const names = ["a", "b"].map((end) => `${"\u{1f980}".repeat(255)}${end}`);
  for (const name of names) await quire.workspaces.putWorkspace({ name, path: "/" });
  const seen: string[] = [];
  let pageToken = "";
  do {
    const found = await quire.workspaces.listWorkspaces(page(pageToken));
    seen.push(...found.workspaces.map(({ name }) => name));
    pageToken = found.nextPageToken;
  } while (pageToken !== "");
  expect(seen).toEqual(expect.arrayContaining(names));
});
