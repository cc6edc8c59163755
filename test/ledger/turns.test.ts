import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { OnHeadMoved, TurnScope } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { AgentRole, EventSource } from "../../src/contract/gen/quire/v1/origin.js";
import { OpenItemKind, type Turn, TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { startChildServer } from "../server/child-server.js";
import { recordedTurn } from "../support/found-turn.js";
import { assistant, system, toolCalls, toolResults, user } from "../support/messages.js";
import { failure, startTestServer, type TestServer } from "../support/server.js";
import { allTurns, type LedgerCalls, ledgerCalls } from "./ledger-calls.js";
import { approvalPart, asksFor, callPart, decides } from "./message-parts.js";

let server: TestServer;
let ledger: LedgerCalls;

beforeAll(async () => {
  server = await startTestServer();
  ledger = ledgerCalls(server.ledger);
});

afterAll(() => server.stop());

const session = async () => (await ledger.session()).id;
const headOf = async (name: string) => (await ledger.getSession({ session: name })).session!.headTurnId;
const history = async (name: string) =>
  (await ledger.history({ thread: { $case: "session", value: name } })).messages;
const texts = async (name: string) =>
  (await history(name)).flatMap((message) =>
    message.parts.map((part) =>
      part.content?.$case === "text" ? part.content.value.text : part.content!.$case,
    ),
  );

describe("a turn that is written step by step", () => {
  test("is in no history and moves no head until it is completed", async () => {
    const name = await session();
    const begun = await ledger.beginTurn({ session: name, messages: [user("find it")] });
    const turnId = begun.turn!.id;
    expect(begun.turn).toMatchObject({
      status: TurnStatus.OPEN,
      depth: 0,
      messageCount: 1,
      parentTurnId: "",
    });
    expect([begun.turn!.contentHash.length, begun.turn!.chainHash.length]).toEqual([0, 0]);
    expect(begun.turn!.completeTime).toBeUndefined();

    const called = await ledger.appendMessages({ turnId, messages: [toolCalls("c1", "c2")] });
    expect(called.turn!.openItems.map((item) => item.id)).toEqual(["c1", "c2"]);
    await ledger.appendMessages({ turnId, messages: [toolResults("c2")] });
    expect([await headOf(name), await texts(name)]).toEqual(["", []]);
    expect(await allTurns(ledger, { session: name })).toEqual([]);

    const usage = {
      inputTokens: 10,
      outputTokens: 4,
      cachedInputTokens: 3,
      cacheWriteTokens: 2,
      reasoningTokens: 1,
    };
    const done = await ledger.completeTurn({
      turnId,
      result: {
        messages: [toolResults("c1"), assistant("found")],
        usage,
        stopReason: "end_turn",
        permissionsUsed: ["fs"],
      },
    });
    expect(done).toMatchObject({ headTurnId: turnId, branched: false });
    expect(done.messageIds).toHaveLength(2);
    expect(done.turn).toMatchObject({
      status: TurnStatus.COMPLETED,
      depth: 1,
      messageCount: 5,
      usage,
      stopReason: "end_turn",
      permissionsUsed: ["fs"],
      openItems: [],
    });
    expect(await headOf(name)).toBe(turnId);
    const messages = await history(name);
    expect(messages.map((message) => message.index)).toEqual([0, 1, 2, 3, 4]);
    expect(messages.map((message) => message.id)).toEqual([
      ...begun.messageIds,
      ...called.messageIds,
      expect.any(String),
      ...done.messageIds,
    ]);
    const tokens = messages.reduce((sum, message) => sum + message.o200kTokens, 0);
    expect(done.turn!.o200kTokens).toBe(tokens);
    expect(tokens).toBeGreaterThan(0);
  });

  test("keeps what the caller said of it", async () => {
    const name = await session();
    const details = {
      agentRole: AgentRole.WORKER,
      model: "m",
      provider: "p",
      toolset: "t",
      permissionsGranted: ["fs", "net"],
      sourceEvent: { id: "e-1", source: EventSource.WEBHOOK, platform: "slack" },
      workspacePath: "/w",
      metadata: { a: "1", ключ: "значение" },
    };
    const { turn } = await ledger.beginTurn({ session: name, details });
    expect(turn!.details).toEqual(details);
    expect(recordedTurn(await ledger.getTurn({ turnId: turn!.id })).turn!.details).toEqual(details);
  });

  test("can be begun without messages, but completed only with some", async () => {
    const name = await session();
    const { turn } = await ledger.beginTurn({ session: name });
    expect(await failure(ledger.completeTurn({ turnId: turn!.id }))).toMatchObject({ reason: "TURN_EMPTY" });
    const done = await ledger.completeTurn({ turnId: turn!.id, result: { messages: [user("now")] } });
    expect(done.headTurnId).toBe(turn!.id);
  });

  test("is written to by any client, also after the server was stopped and started again", async () => {
    const database = `file:${join(server.folder, "restarted.db")}`;
    const first = await startTestServer({ database });
    const before = ledgerCalls(first.ledger);
    await before.session({ label: "loop" });
    const { turn } = await before.beginTurn({ session: "loop", messages: [user("go"), toolCalls("c1")] });
    await first.stop();

    const second = await startTestServer({ database });
    onTestFinished(() => second.stop());
    const after = ledgerCalls(second.ledger);
    const turnId = turn!.id;
    const open = await allTurns(after, {
      session: "loop",
      scope: TurnScope.WRITTEN,
      statuses: [TurnStatus.OPEN],
    });
    expect(open.map((entry) => entry.id)).toEqual([turnId]);
    expect(await failure(after.appendMessages({ turnId, messages: [user("?")] }))).toMatchObject({
      reason: "BAD_ROLE_ORDER",
      metadata: { open_items: "c1" },
    });
    await after.appendMessages({ turnId, messages: [toolResults("c1")] });
    await after.completeTurn({ turnId, result: { messages: [assistant("done")] } });
    expect((await after.history({ thread: { $case: "session", value: "loop" } })).messages).toHaveLength(4);
  });

  test("refuses a step that bends the rules, and keeps what it had", async () => {
    const name = await session();
    const { turn } = await ledger.beginTurn({ session: name, messages: [user("x"), toolCalls("c1")] });
    const turnId = turn!.id;
    expect(
      await failure(ledger.appendMessages({ turnId, messages: [toolResults("c1"), toolResults("c1")] })),
    ).toMatchObject({
      reason: "DUPLICATE_ANSWER",
    });
    expect(await failure(ledger.completeTurn({ turnId }))).toMatchObject({
      reason: "UNANSWERED_CALLS",
      fields: ["status"],
    });
    expect(recordedTurn(await ledger.getTurn({ turnId })).turn).toMatchObject({
      messageCount: 2,
      status: TurnStatus.OPEN,
    });
    await ledger.appendMessages({ turnId, messages: [toolResults("c1")] });
    const late = await failure(ledger.appendMessages({ turnId, messages: [system("late")] }));
    expect(late).toMatchObject({ reason: "BAD_ROLE_ORDER", fields: ["messages[0].role"] });
    expect((await ledger.completeTurn({ turnId })).turn!.messageCount).toBe(3);
  });

  test("takes messages under an expected count only if it has that many", async () => {
    const name = await session();
    const { turn } = await ledger.beginTurn({ session: name, messages: [user("x")] });
    const turnId = turn!.id;
    const append = (expectedMessageCount: number) =>
      ledger.appendMessages({ turnId, expectedMessageCount, messages: [user("more")] });
    expect(await failure(append(0))).toMatchObject({
      reason: "MESSAGE_COUNT_MISMATCH",
      metadata: { message_count: "1" },
    });
    expect((await append(1)).turn!.messageCount).toBe(2);
    expect(await failure(append(1))).toMatchObject({ metadata: { message_count: "2" } });
    const twice = await Promise.allSettled([append(2), append(2)]);
    expect(twice.map((result) => result.status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  test("shows as many messages as it says it has, whoever writes to it meanwhile", async () => {
    const other = await startChildServer({ flags: { database: server.config.database } });
    onTestFinished(() => other.stop());
    const elsewhere = ledgerCalls(other.ledger);
    const { turn } = await ledger.beginTurn({ session: await session(), messages: [user("0")] });
    let writing = true;
    const writer = (async () => {
      for (let count = 1; count < 80; count++) {
        await elsewhere.appendMessages({ turnId: turn!.id, messages: [user(`${count}`)] });
      }
      writing = false;
    })();
    const reader = async () => {
      while (writing) {
        const read = recordedTurn(await ledger.getTurn({ turnId: turn!.id }));
        expect(read.result!.messages).toHaveLength(read.turn!.messageCount);
      }
    };
    await Promise.all([writer, ...Array.from({ length: 4 }, reader)]);
  });

  test("that has ended takes nothing more", async () => {
    const name = await session();
    for (const status of [TurnStatus.COMPLETED, TurnStatus.AWAITING, TurnStatus.FAILED]) {
      const { turn } = await ledger.beginTurn({
        session: name,
        parentTurnId: await headOf(name),
        messages: [user("x")],
      });
      const turnId = turn!.id;
      await ledger.completeTurn({ turnId, status });
      const expected = { reason: "TURN_NOT_OPEN", metadata: { status: status.replace("TURN_STATUS_", "") } };
      expect(await failure(ledger.appendMessages({ turnId, messages: [user("y")] }))).toMatchObject(expected);
      expect(await failure(ledger.completeTurn({ turnId, status: TurnStatus.FAILED }))).toMatchObject(
        expected,
      );
    }
  });
});

describe("a failed turn", () => {
  test("is kept with its error, moves no head and is in no history", async () => {
    const name = await session();
    const first = await ledger.turn(name, "", [user("hello")]);
    const begun = await ledger.beginTurn({
      session: name,
      parentTurnId: first.id,
      messages: [user("x"), toolCalls("c1")],
    });
    const failed = await ledger.completeTurn({
      turnId: begun.turn!.id,
      status: TurnStatus.FAILED,
      result: { error: "the tool crashed" },
    });
    expect(failed).toMatchObject({ headTurnId: first.id, branched: false });
    expect(failed.turn).toMatchObject({ status: TurnStatus.FAILED, depth: 0, error: "the tool crashed" });
    expect(failed.turn!.chainHash).toHaveLength(0);
    expect(await texts(name)).toEqual(["hello"]);

    const recorded = await ledger.recordTurn({
      session: name,
      parentTurnId: first.id,
      status: TurnStatus.FAILED,
      messages: [user("y"), toolCalls("c1")],
      result: { error: "overloaded", usage: { inputTokens: 5 } },
    });
    expect(recorded).toMatchObject({ headTurnId: first.id, branched: false });
    const written = await allTurns(ledger, {
      session: name,
      scope: TurnScope.WRITTEN,
      statuses: [TurnStatus.FAILED],
    });
    expect(written.map((turn) => turn.error)).toEqual(["overloaded", "the tool crashed"]);
    expect(await texts(name)).toEqual(["hello"]);
    expect(recordedTurn(await ledger.getTurn({ turnId: recorded.turn!.id })).result!.messages).toHaveLength(
      2,
    );
  });

  test("can be neither a parent, nor forked, nor read as a thread", async () => {
    const name = await session();
    const failed = await ledger.turn(name, "", [user("x")], { status: TurnStatus.FAILED });
    const at = { $case: "turnId" as const, value: failed.id };
    expect(await failure(ledger.turn(name, failed.id, [user("y")]))).toMatchObject({
      reason: "PARENT_NOT_FINISHED",
      metadata: { status: "FAILED" },
    });
    expect(await failure(ledger.forkSession({ at }))).toMatchObject({ reason: "TURN_NOT_FINISHED" });
    expect(await failure(ledger.history({ thread: at }))).toMatchObject({ reason: "TURN_NOT_FINISHED" });
  });

  test("ends an open turn although the head has moved, or its messages are none", async () => {
    const name = await session();
    const stale = (await ledger.beginTurn({ session: name, messages: [user("x")] })).turn!;
    const empty = (await ledger.beginTurn({ session: name })).turn!;
    await ledger.turn(name, "", [user("faster")]);
    for (const turn of [stale, empty]) {
      const failed = await ledger.completeTurn({ turnId: turn.id, status: TurnStatus.FAILED });
      expect(failed.turn!.status).toBe(TurnStatus.FAILED);
    }
    expect(await texts(name)).toEqual(["faster"]);
  });
});

describe("an awaiting turn", () => {
  const ask = asksFor(callPart("c1"), approvalPart("ask", "c1"), callPart("c2"));

  async function awaiting(name: string): Promise<Turn> {
    return ledger.turn(name, "", [user("do both"), ask], { status: TurnStatus.AWAITING });
  }

  test("becomes the head and says what it waits for; the next turn answers", async () => {
    const name = await session();
    const parent = await awaiting(name);
    expect(parent.openItems).toEqual([
      { kind: OpenItemKind.TOOL_CALL, id: "c1" },
      { kind: OpenItemKind.APPROVAL, id: "ask" },
      { kind: OpenItemKind.TOOL_CALL, id: "c2" },
    ]);
    expect(await headOf(name)).toBe(parent.id);
    const answered = await ledger.turn(name, parent.id, [
      decides("ask"),
      toolResults("c2", "c1"),
      assistant("both done"),
    ]);
    expect(answered).toMatchObject({ status: TurnStatus.COMPLETED, openItems: [], abandonedItems: [] });
  });

  test("needs no approval any more for a call that the next turn answers", async () => {
    const name = await session();
    const parent = await awaiting(name);
    const answered = await ledger.turn(name, parent.id, [toolResults("c1", "c2"), assistant("both done")]);
    expect(answered.openItems).toEqual([]);
  });

  test("can be answered step by step, and in part by another awaiting turn", async () => {
    const name = await session();
    const parent = await awaiting(name);
    const { turn } = await ledger.beginTurn({
      session: name,
      parentTurnId: parent.id,
      messages: [decides("ask")],
    });
    const half = await ledger.completeTurn({
      turnId: turn!.id,
      status: TurnStatus.AWAITING,
      result: { messages: [toolResults("c1")] },
    });
    expect(half.turn!.openItems).toEqual([{ kind: OpenItemKind.TOOL_CALL, id: "c2" }]);
    const rest = await ledger.turn(name, half.turn!.id, [toolResults("c2"), assistant("done")]);
    expect(rest.depth).toBe(3);
  });

  test("holds up whoever does not answer", async () => {
    const name = await session();
    const parent = await awaiting(name);
    const error = await failure(ledger.turn(name, parent.id, [user("never mind")]));
    expect(error).toMatchObject({
      reason: "UNANSWERED_CALLS",
      fields: ["messages[0]"],
      metadata: { open_items: "c1,ask,c2" },
    });
    expect(await headOf(name)).toBe(parent.id);
  });

  test("can be left with its items unanswered for good, which the next turn says", async () => {
    const name = await session();
    const parent = await awaiting(name);
    const next = await ledger.turn(name, parent.id, [toolResults("c2"), user("never mind the other")], {
      abandonOpenItems: true,
    });
    expect(next.abandonedItems.map((item) => item.id)).toEqual(["c1", "ask"]);
    expect(next.openItems).toEqual([]);
    const late = await failure(ledger.turn(name, next.id, [toolResults("c1")]));
    expect(late).toMatchObject({ reason: "ORPHAN_TOOL_RESULT" });
  });

  test("can be left step by step: what an open turn may give up is decided when it begins", async () => {
    const name = await session();
    const parent = await awaiting(name);
    const strict = (await ledger.beginTurn({ session: name, parentTurnId: parent.id })).turn!;
    expect(await failure(ledger.appendMessages({ turnId: strict.id, messages: [user("x")] }))).toMatchObject({
      reason: "UNANSWERED_CALLS",
    });
    const lax = (await ledger.beginTurn({ session: name, parentTurnId: parent.id, abandonOpenItems: true }))
      .turn!;
    await ledger.appendMessages({ turnId: lax.id, messages: [toolResults("c1")] });
    const { turn } = await ledger.completeTurn({ turnId: lax.id });
    expect(turn!.abandonedItems).toEqual([{ kind: OpenItemKind.TOOL_CALL, id: "c2" }]);
  });

  test("is answered on each of its forks by itself", async () => {
    const name = await session();
    const parent = await awaiting(name);
    const fork = (await ledger.forkSession({ session: name })).session!;
    for (const each of [name, fork.id]) {
      await ledger.turn(each, parent.id, [decides("ask"), toolResults("c1", "c2"), assistant(each)]);
    }
    expect((await texts(fork.id)).at(-1)).toBe(fork.id);
  });
});

describe("a head that has moved", () => {
  test("fails what names another parent, with the head that it is now", async () => {
    const name = await session();
    const stale = (await ledger.beginTurn({ session: name, messages: [user("slow")] })).turn!;
    const fast = await ledger.turn(name, "", [user("fast")]);
    const moved = { reason: "HEAD_MOVED", metadata: { head_turn_id: fast.id } };
    expect(await failure(ledger.completeTurn({ turnId: stale.id }))).toMatchObject({
      ...moved,
      fields: ["turn_id"],
    });
    expect(await failure(ledger.turn(name, "", [user("late")]))).toMatchObject({
      ...moved,
      fields: ["parent_turn_id"],
    });
    expect(await failure(ledger.beginTurn({ session: name, parentTurnId: "" }))).toMatchObject(moved);
    expect(recordedTurn(await ledger.getTurn({ turnId: stale.id })).turn!.status).toBe(TurnStatus.OPEN);
    expect(await texts(name)).toEqual(["fast"]);
  });

  test("stays where it is under BRANCH, and the branch can be forked and extended", async () => {
    const name = await session();
    const root = await ledger.turn(name, "", [user("root")]);
    const open = (await ledger.beginTurn({ session: name, parentTurnId: root.id, messages: [user("slow")] }))
      .turn!;
    const head = await ledger.turn(name, root.id, [user("fast")]);
    const onHeadMoved = OnHeadMoved.BRANCH;
    const branches = [
      await ledger.completeTurn({ turnId: open.id, onHeadMoved }),
      await ledger.recordTurn({
        session: name,
        parentTurnId: root.id,
        messages: [user("third")],
        onHeadMoved,
      }),
      await ledger.recordTurn({ session: name, parentTurnId: "", messages: [user("new root")], onHeadMoved }),
    ];
    const told: string[] = [];
    for (const { turn, branched, headTurnId } of branches) {
      expect([branched, headTurnId]).toEqual([true, head.id]);
      const fork = (await ledger.forkSession({ at: { $case: "turnId", value: turn!.id } })).session!;
      expect(fork).toMatchObject({
        headTurnId: turn!.id,
        forkedFromTurnId: turn!.id,
        depth: turn!.depth,
        headSequence: 1,
      });
      await ledger.turn(fork.id, turn!.id, [user("on")]);
      told.push((await texts(fork.id)).join(" > "));
    }
    expect(told).toEqual(["root > slow > on", "root > third > on", "new root > on"]);
    expect(await texts(name)).toEqual(["root", "fast"]);
    expect((await ledger.getSession({ session: name })).session!.headSequence).toBe(2);
  });

  test("is no matter for BRANCH when the parent is the head after all", async () => {
    const name = await session();
    const answer = await ledger.recordTurn({
      session: name,
      messages: [user("x")],
      onHeadMoved: OnHeadMoved.BRANCH,
    });
    expect(answer).toMatchObject({ branched: false, headTurnId: answer.turn!.id });
  });

  test("lets one of many through, each time", async () => {
    const name = await session();
    let head = "";
    for (let round = 0; round < 5; round++) {
      const attempts = Array.from({ length: 8 }, (_, index) =>
        ledger.turn(name, head, [user(`${round}/${index}`)]),
      );
      const results = await Promise.allSettled(attempts);
      const won = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
      expect(won).toHaveLength(1);
      head = won[0]!.id;
    }
    expect(await texts(name)).toHaveLength(5);
    expect((await ledger.getSession({ session: name })).session).toMatchObject({ depth: 5, headSequence: 5 });
  });
});
