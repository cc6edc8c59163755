import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OnHeadMoved, TurnScope } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { type Turn, TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { recordedTurn } from "../support/found-turn.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { failure, startTestServer, type TestServer } from "../support/server.js";
import { allTurns, type LedgerCalls, ledgerCalls } from "./ledger-calls.js";

let server: TestServer;
let ledger: LedgerCalls;

beforeAll(async () => {
  server = await startTestServer();
  ledger = ledgerCalls(server.ledger);
});

afterAll(() => server.stop());

const ids = (turns: readonly Turn[]) => turns.map((turn) => turn.id);

/** A thread of so many turns on a session; gives their ids, the oldest first. */
async function thread(session: string, length: number, parentTurnId = ""): Promise<string[]> {
  const made: string[] = [];
  for (let index = 0; index < length; index++) {
    made.push((await ledger.turn(session, made.at(-1) ?? parentTurnId, [user(`${session} ${index}`)])).id);
  }
  return made;
}

/** A session forked twice: each fork goes on from the middle of the one before. */
async function forkedTwice(): Promise<{ readonly session: string; readonly turnIds: readonly string[] }> {
  const root = await ledger.session();
  const first = await thread(root.id, 5);
  const fork = (await ledger.forkSession({ at: { $case: "turnId", value: first[2]! } })).session!;
  const second = await thread(fork.id, 4, first[2]);
  const { id } = (await ledger.forkSession({ at: { $case: "turnId", value: second[1]! } })).session!;
  const third = await thread(id, 3, second[1]);
  return { session: id, turnIds: [...first.slice(0, 3), ...second.slice(0, 2), ...third] };
}

describe("ListTurns", () => {
  test("gives the thread across its forks, the newest first, in pages of any size", async () => {
    const { session, turnIds } = await forkedTwice();
    for (const pageSize of [1, 2, 3, 7, 8, 9, 1_000]) {
      const turns = await allTurns(ledger, { session, pageSize });
      expect(ids(turns)).toEqual(turnIds.toReversed());
      expect(turns.map((turn) => turn.depth)).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
    }
    const page = await ledger.listTurns({ session, pageSize: 8 });
    expect(page.nextPageToken).toBe("");
  });

  test("has no messages in it, but counts them", async () => {
    const { id } = await ledger.session();
    await ledger.turn(id, "", [user("a"), assistant("b")]);
    expect((await ledger.listTurns({ session: id })).turns[0]).toMatchObject({
      messageCount: 2,
      o200kTokens: 2,
    });
  });

  test("goes on where it was, though turns are written and the head is moved meanwhile", async () => {
    const { id } = await ledger.session();
    const turnIds = await thread(id, 6);
    const first = await ledger.listTurns({ session: id, pageSize: 2 });
    const head = await ledger.turn(id, turnIds[5]!, [user("new")]);
    const second = await ledger.listTurns({ session: id, pageSize: 2, pageToken: first.nextPageToken });
    await ledger.updateSession({ session: id, headTurnId: turnIds[0]!, expectedHeadTurnId: head.id });
    const third = await ledger.listTurns({ session: id, pageSize: 2, pageToken: second.nextPageToken });
    expect(ids([...first.turns, ...second.turns, ...third.turns])).toEqual(turnIds.toReversed());
  });

  test("lists all that was written through a session, whatever became of it", async () => {
    const { id: session } = await ledger.session();
    const [first, second] = await thread(session, 2);
    const failed = await ledger.turn(session, second!, [user("x")], { status: TurnStatus.FAILED });
    const branch = await ledger.turn(session, first!, [user("x")], { onHeadMoved: OnHeadMoved.BRANCH });
    const awaiting = await ledger.turn(session, second!, [user("x"), toolCalls("c")], {
      status: TurnStatus.AWAITING,
    });
    const open = (await ledger.beginTurn({ session, parentTurnId: awaiting.id })).turn!;
    const fork = (await ledger.forkSession({ session })).session!;

    const written = { session, scope: TurnScope.WRITTEN };
    const all = [open.id, awaiting.id, branch.id, failed.id, second, first];
    for (const pageSize of [1, 4, 6, 50])
      expect(ids(await allTurns(ledger, { ...written, pageSize }))).toEqual(all);
    const only = async (...statuses: TurnStatus[]) => ids(await allTurns(ledger, { ...written, statuses }));
    expect(await only(TurnStatus.OPEN)).toEqual([open.id]);
    expect(await only(TurnStatus.FAILED, TurnStatus.AWAITING)).toEqual([awaiting.id, failed.id]);
    expect(await only(TurnStatus.COMPLETED)).toEqual([branch.id, second, first]);
    expect(await allTurns(ledger, { session: fork.id, scope: TurnScope.WRITTEN })).toEqual([]);

    const inThread = async (...statuses: TurnStatus[]) =>
      ids(await allTurns(ledger, { session, statuses, pageSize: 1 }));
    expect(await inThread(TurnStatus.COMPLETED)).toEqual([second, first]);
    expect(await inThread(TurnStatus.OPEN, TurnStatus.FAILED)).toEqual([]);
  });

  test("refuses tokens of other lists, made-up ones, and statuses that are none", async () => {
    const one = await ledger.session();
    const two = await ledger.session();
    for (const { id } of [one, two]) await thread(id, 3);
    const token = async (session: string, scope: TurnScope) =>
      (await ledger.listTurns({ session, scope, pageSize: 1 })).nextPageToken;
    const thread1 = await token(one.id, TurnScope.THREAD);
    const damaged = [...thread1].map(
      (letter, at) => thread1.slice(0, at) + (letter === "A" ? "B" : "A") + thread1.slice(at + 1),
    );
    const forged = [
      ...damaged,
      thread1.slice(0, -1),
      thread1.slice(4),
      `${thread1}AAAA`,
      "AAAA",
      "-1",
      '["turns","1"]',
    ];
    const wrong = [
      { session: two.id, scope: TurnScope.THREAD, pageToken: thread1 },
      { session: one.id, scope: TurnScope.WRITTEN, pageToken: thread1 },
      { session: two.id, scope: TurnScope.WRITTEN, pageToken: await token(one.id, TurnScope.WRITTEN) },
      { session: one.id, pageToken: (await ledger.listSessions({ pageSize: 1 })).nextPageToken },
      ...forged.map((pageToken) => ({ session: one.id, pageToken })),
    ];
    for (const request of wrong) {
      expect(await failure(ledger.listTurns(request))).toMatchObject({ reason: "PAGE_TOKEN_INVALID" });
    }
    expect(
      await failure(ledger.listTurns({ session: one.id, statuses: [TurnStatus.UNSPECIFIED] })),
    ).toMatchObject({
      fields: ["statuses[0]"],
    });
    expect(await failure(ledger.listTurns({ session: "nobody" }))).toMatchObject({
      reason: "SESSION_NOT_FOUND",
    });
  });
});

describe("GetTurn", () => {
  test("gives each call of the turn, with its result where that is in the turn, too", async () => {
    const { id } = await ledger.session();
    const first = await ledger.turn(id, "", [user("x"), toolCalls("a", "b"), toolResults("b")], {
      status: TurnStatus.AWAITING,
    });
    const { calls } = recordedTurn(await ledger.getTurn({ turnId: first.id })).result!;
    expect(calls.map(({ call, result }) => [call!.callId, result?.callId])).toEqual([
      ["a", undefined],
      ["b", "b"],
    ]);
    expect(calls[1]!.result!.content[0]!.content).toMatchObject({ value: { text: "result of b" } });
    const second = await ledger.turn(id, first.id, [toolResults("a"), assistant("done")]);
    expect(recordedTurn(await ledger.getTurn({ turnId: second.id })).result!.calls).toEqual([]);
  });

  test("gives the same messages as the history", async () => {
    const { id } = await ledger.session();
    const begun = await ledger.beginTurn({ session: id, messages: [user("a"), toolCalls("c")] });
    await ledger.appendMessages({ turnId: begun.turn!.id, messages: [toolResults("c"), assistant("b")] });
    const { turn } = await ledger.completeTurn({ turnId: begun.turn!.id });
    const read = recordedTurn(await ledger.getTurn({ turnId: turn!.id }));
    expect(read.turn).toEqual(turn);
    expect(read.result!.messages).toEqual(
      (await ledger.history({ thread: { $case: "session", value: id } })).messages,
    );
  });

  test("finds nothing under an id that is none", async () => {
    expect(await failure(ledger.getTurn({ turnId: "x" }))).toMatchObject({ reason: "TURN_NOT_FOUND" });
    expect(await failure(ledger.getTurn({ turnId: "" }))).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["turn_id"],
    });
    expect(await failure(ledger.getTurn({ turnId: "x".repeat(37) }))).toMatchObject({ fields: ["turn_id"] });
  });
});
