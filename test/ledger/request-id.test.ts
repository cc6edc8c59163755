import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { CreateSessionRequest, TurnScope } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { openDatabase } from "../../src/storage/driver/database-sync.js";
import { recordedTurn } from "../support/found-turn.js";
import { assistant, user } from "../support/messages.js";
import { failure, startTestServer, type TestServer } from "../support/server.js";
import { allTurns, type LedgerCalls, ledgerCalls } from "./ledger-calls.js";

let server: TestServer;
let ledger: LedgerCalls;

beforeAll(async () => {
  server = await startTestServer();
  ledger = ledgerCalls(server.ledger);
});

afterAll(() => server.stop());

/** A call of every method that writes, each as the scene before it allows; and the same with another body. */
async function everyWrite(prefix: string) {
  const id = (name: string) => ({ requestId: `${prefix}-${name}` });
  const session = `${prefix} session`;
  const create = { ...id("create"), label: session, metadata: { a: "1", b: "2" } };
  const record = { ...id("record"), session, messages: [user("hello")] };
  const { turn: first } = await ledger.createSession(create).then(() => ledger.recordTurn(record));
  const begin = { ...id("begin"), session, parentTurnId: first!.id, messages: [user("more")] };
  const { turn: open } = await ledger.beginTurn(begin);
  const append = {
    ...id("append"),
    turnId: open!.id,
    messages: [assistant("well")],
    expectedMessageCount: 1,
  };
  await ledger.appendMessages(append);
  const complete = { ...id("complete"), turnId: open!.id, result: { stopReason: "end" } };
  await ledger.completeTurn(complete);
  const fork = {
    ...id("fork"),
    session: session,
    label: `${prefix} fork`,
  };
  await ledger.forkSession(fork);
  const alias = { ...id("alias"), alias: `${prefix} alias`, session };
  await ledger.aliasSession(alias);
  const unalias = { ...id("unalias"), alias: `${prefix} other alias` };
  await ledger.aliasSession({ alias: unalias.alias, session });
  await ledger.unaliasSession(unalias);
  const update = { ...id("update"), session: `${prefix} fork`, workspacePath: "/w" };
  await ledger.updateSession(update);
  const remove = { ...id("delete"), session: `${prefix} doomed` };
  await ledger.session({ label: `${prefix} doomed` });
  await ledger.deleteSession(remove);
  return [
    [
      "CreateSession",
      (more: object) => ledger.createSession({ ...create, ...more }),
      { workspacePath: "/x" },
    ],
    [
      "RecordTurn",
      (more: object) => ledger.recordTurn({ ...record, ...more }),
      { messages: [user("other")] },
    ],
    ["BeginTurn", (more: object) => ledger.beginTurn({ ...begin, ...more }), { abandonOpenItems: true }],
    [
      "AppendMessages",
      (more: object) => ledger.appendMessages({ ...append, ...more }),
      { expectedMessageCount: 2 },
    ],
    [
      "CompleteTurn",
      (more: object) => ledger.completeTurn({ ...complete, ...more }),
      { status: TurnStatus.AWAITING },
    ],
    ["ForkSession", (more: object) => ledger.forkSession({ ...fork, ...more }), { label: "x" }],
    ["AliasSession", (more: object) => ledger.aliasSession({ ...alias, ...more }), { replace: true }],
    ["UnaliasSession", (more: object) => ledger.unaliasSession({ ...unalias, ...more }), { alias: "x" }],
    ["UpdateSession", (more: object) => ledger.updateSession({ ...update, ...more }), { label: "x" }],
    ["DeleteSession", (more: object) => ledger.deleteSession({ ...remove, ...more }), { session: "x" }],
  ] as const;
}

test("request ids: the same request again has no effect and gets the first answer, for every write", async () => {
  const writes = await everyWrite("again");
  const answers = await Promise.all(writes.map(([, send]) => send({})));
  // The head moves on: what was answered stays answered.
  const { session } = await ledger.getSession({ session: "again session" });
  await ledger.turn(session!.id, session!.headTurnId, [user("moved on")]);
  const before = await ledger.listSessions({ labelPrefix: "again" });
  for (const [index, [method, send]] of writes.entries())
    expect(await send({}), method).toEqual(answers[index]);
  expect(await ledger.listSessions({ labelPrefix: "again" })).toEqual(before);
  expect(await allTurns(ledger, { session: "again session", scope: TurnScope.WRITTEN })).toHaveLength(3);
});

test("request ids: another request under the same id is refused, for every write", async () => {
  for (const [method, send, change] of await everyWrite("other")) {
    const error = await failure(send(change));
    expect(error, method).toMatchObject({
      reason: "REQUEST_ID_REUSED",
      metadata: { method },
      fields: ["request_id"],
    });
  }
});

test("request ids: answers outlive the server", async () => {
  const database = `file:${join(server.folder, "answers.db")}`;
  const first = await startTestServer({ database });
  const before = ledgerCalls(first.ledger);
  await before.session({ label: "s" });
  const record = { requestId: "r", session: "s", messages: [user("once")] };
  const answer = await before.recordTurn(record);
  await before.turn("s", answer.turn!.id, [user("head moves")]);
  await first.stop();

  const second = await startTestServer({ database });
  onTestFinished(() => second.stop());
  const after = ledgerCalls(second.ledger);
  expect(await after.recordTurn(record)).toEqual(answer);
  expect((await after.getSession({ session: "s" })).session!.depth).toBe(2);
});

test("request ids: answers are forgotten when their time has passed", async () => {
  const database = `file:${join(server.folder, "forgotten.db")}`;
  const first = await startTestServer({ database, requestRetentionHours: 1 });
  const create = (calls: LedgerCalls, label: string, requestId: string) =>
    calls.session({ label, requestId });
  await create(ledgerCalls(first.ledger), "old", "old");
  await create(ledgerCalls(first.ledger), "young", "young");
  await first.stop();
  const file = openDatabase(join(server.folder, "forgotten.db"));
  const hourUs = 3_600_000_000n;
  file
    .prepare("UPDATE stored_answers SET created_us = created_us - ? WHERE request_id = ?")
    .run(2n * hourUs, "old");
  file.close();

  const second = await startTestServer({ database, requestRetentionHours: 1 });
  onTestFinished(() => second.stop());
  const calls = ledgerCalls(second.ledger);
  await expect.poll(() => failure(create(calls, "old", "old"))).toMatchObject({ reason: "LABEL_TAKEN" });
  expect((await create(calls, "young", "young")).label).toBe("young");
});

test("request ids: a request is the same whatever order its maps are written in", async () => {
  const maps = { details: { metadata: { b: "2", a: "1", 10: "x", 9: "y" } } };
  const turned = { details: { metadata: { 10: "x", 9: "y", a: "1", b: "2" } } };
  const bytes = (metadata: Record<string, string>) =>
    CreateSessionRequest.encode(CreateSessionRequest.create({ metadata })).finish();
  expect(bytes({ b: "2", a: "1" })).not.toEqual(bytes({ a: "1", b: "2" }));

  const create = { requestId: "maps", label: "maps" };
  const session = await ledger.session({ ...create, metadata: { b: "2", a: "1" } });
  expect(await ledger.session({ ...create, metadata: { a: "1", b: "2" } })).toEqual(session);
  const record = { requestId: "maps", session: "maps", messages: [user("x")] };
  const answer = await ledger.recordTurn({ ...record, ...maps });
  expect(await ledger.recordTurn({ ...record, ...turned })).toEqual(answer);
  const sentWith = (metadata: Readonly<Record<string, string>>) => ({
    requestId: "inner maps",
    session: "maps",
    parentTurnId: answer.turn!.id,
    messages: [{ ...user("y"), contextParts: user("before").parts, injected: { event: { metadata } } }],
  });
  const next = await ledger.recordTurn(sentWith({ b: "2", a: "1" }));
  expect(await ledger.recordTurn(sentWith({ a: "1", b: "2" }))).toEqual(next);
  const update = { requestId: "maps", session: "maps" };
  await ledger.updateSession({ ...update, setMetadata: { d: "4", c: "3" } });
  expect(
    (await ledger.updateSession({ ...update, setMetadata: { c: "3", d: "4" } })).session!.metadata,
  ).toEqual({
    a: "1",
    b: "2",
    c: "3",
    d: "4",
  });
  expect(await failure(ledger.session({ ...create, metadata: { a: "2", b: "1" } }))).toMatchObject({
    reason: "REQUEST_ID_REUSED",
  });
});

test("request ids: what only the server sets makes no difference, so a message that was read can be sent back", async () => {
  await ledger.session({ label: "sent back" });
  const record = { requestId: "sent back", session: "sent back" };
  const answer = await ledger.recordTurn({
    ...record,
    messages: [user("x")],
    result: { messages: [assistant("y")] },
  });
  const read = recordedTurn(await ledger.getTurn({ turnId: answer.turn!.id }));
  const [question, reply] = read.result!.messages;
  const again = await ledger.recordTurn({
    ...record,
    messages: [{ ...question!, createTime: new Date(0) }],
    result: { messages: [reply!], calls: [{ call: { callId: "ignored" } }] },
  });
  expect(again).toEqual(answer);
});

test("request ids: requests that come at once are done once", async () => {
  await ledger.session({ label: "at once" });
  const record = { requestId: "at once", session: "at once", messages: [user("x")] };
  const answers = await Promise.all(Array.from({ length: 10 }, () => ledger.recordTurn(record)));
  expect(new Set(answers.map((answer) => answer.turn!.id)).size).toBe(1);
  const create = { requestId: "at once", label: "made at once" };
  const sessions = await Promise.all(Array.from({ length: 10 }, () => ledger.session(create)));
  expect(new Set(sessions.map((session) => session.id)).size).toBe(1);
  expect(await allTurns(ledger, { session: "at once", scope: TurnScope.WRITTEN })).toHaveLength(1);
});

test("request ids: what was refused is not remembered", async () => {
  const record = { requestId: "refused", session: "not yet", messages: [user("x")] };
  expect(await failure(ledger.recordTurn(record))).toMatchObject({ reason: "SESSION_NOT_FOUND" });
  await ledger.session({ label: "not yet" });
  expect((await ledger.recordTurn(record)).turn!.depth).toBe(1);
});

test("request ids: each method has its own, and no id means no protection", async () => {
  const session = await ledger.session({ requestId: "shared", label: "own ids" });
  const { turn } = await ledger.recordTurn({
    requestId: "shared",
    session: session.id,
    messages: [user("x")],
  });
  expect(turn!.sessionId).toBe(session.id);
  const one = await ledger.turn(session.id, turn!.id, [user("same")]);
  const two = await ledger.turn(session.id, one.id, [user("same")]);
  expect(two.id).not.toBe(one.id);
  expect(await failure(ledger.session({ label: "own ids" }))).toMatchObject({ reason: "LABEL_TAKEN" });
});
