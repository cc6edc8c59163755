import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OnBusy, OnHeadMoved } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { BodyFormat } from "../../src/contract/gen/quire/v1/rendering.js";
import { HeadMoveCause } from "../../src/contract/gen/quire/v1/session.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import type { Quire } from "../../src/index.js";
import { collected, refusal } from "../in-process/quire-fixture.js";
import { recordedTurn } from "../support/found-turn.js";
import { assistant, system, toolCalls, toolResults, user } from "../support/messages.js";
import { startPostgres } from "../support/postgres.js";
import { type LeasedQuire, leasedDatabases, leasedQuire } from "./leased-sessions.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const reasonOf = async (call: Promise<unknown>) => (await refusal(call)).reason;
const interrupt = { onBusy: OnBusy.INTERRUPT };

async function textsOf({ ledger }: Quire, session: string): Promise<string[]> {
  const batches = await collected(ledger.streamHistory({ thread: { $case: "session", value: session } }));
  return batches.flatMap(({ messages }) =>
    messages.map(({ parts: [part] }) =>
      part?.content?.$case === "text" ? part.content.value.text : (part?.content?.$case ?? ""),
    ),
  );
}

describe.each(leasedDatabases(postgres))("leases on $name", (database) => {
  const it = test.skipIf(database.isMissing);
  let open: LeasedQuire;
  beforeAll(async () => {
    if (!database.isMissing) open = await leasedQuire(database);
  });
  afterAll(() => open?.close());

  it("while a lease lives, nothing else moves the session's head, and the error says who has it", async () => {
    const { quire, session } = open;
    const { ledger } = quire;
    const { id, head } = await session();
    const other = await ledger.beginTurn({ session: id, messages: [user("other")] });
    const { turn, lease } = await ledger.beginTurn({ session: id, lease: { holder: "web-2" } });
    expect(lease).toMatchObject({ turnId: turn!.id, holder: "web-2", seconds: 60 });
    expect(turn).toMatchObject({ parentTurnId: head, messageCount: 0 });

    const movers = [
      ledger.recordTurn({ session: id, messages: [user("x")] }),
      ledger.recordTurn({ session: id, messages: [user("x")], onHeadMoved: OnHeadMoved.APPEND }),
      ledger.completeTurn({ turnId: other.turn!.id }),
      ledger.beginTurn({ session: id, lease: {} }),
      ledger.updateSession({ session: id, headTurnId: head, expectedHeadTurnId: head }),
    ];
    for (const mover of movers.map(refusal)) {
      const { reason, metadata, retryAfterMs } = await mover;
      expect({ reason, metadata, retryAfterMs }).toEqual({
        reason: "SESSION_BUSY",
        metadata: {
          session_id: id,
          turn_id: turn!.id,
          holder: "web-2",
          expire_time: lease!.expireTime!.toISOString(),
        },
        retryAfterMs: 1_000,
      });
    }
    const { session: seen } = await ledger.getSession({ session: id });
    expect(seen).toMatchObject({ headTurnId: head, lease: { turnId: turn!.id, holder: "web-2" } });
  });

  it("what moves no head goes on beside a lease", async () => {
    const { quire, session } = open;
    const { ledger } = quire;
    const { id, head } = await session();
    const { turn } = await ledger.beginTurn({ session: id, lease: {} });
    await ledger.beginTurn({ session: id, messages: [user("open")] });
    await ledger.recordTurn({ session: id, messages: [user("x")], status: TurnStatus.FAILED });
    const branched = await ledger.recordTurn({
      session: id,
      parentTurnId: "",
      onHeadMoved: OnHeadMoved.BRANCH,
      messages: [user("elsewhere")],
    });
    expect(branched.branched).toBe(true);
    await ledger.updateSession({ session: id, setMetadata: { a: "b" } });
    const fork = await ledger.forkSession({ session: id });
    expect(fork.session).toMatchObject({ headTurnId: head, lease: undefined });
    await ledger.recordTurn({ session: fork.session!.id, messages: [user("free")] });
    await ledger.appendMessages({ turnId: turn!.id, messages: [user("mine")] });
    const completed = await ledger.completeTurn({ turnId: turn!.id });
    expect(completed.headTurnId).toBe(turn!.id);
    const { session: seen } = await ledger.getSession({ session: id });
    expect(seen).toMatchObject({ headTurnId: turn!.id, lease: undefined, metadata: { a: "b" } });
  });

  it("a turn that ends gives its lease back, also one that fails", async () => {
    const { quire, session } = open;
    const { ledger } = quire;
    const { id, head } = await session();
    const failing = await ledger.beginTurn({ session: id, lease: {} });
    await ledger.completeTurn({ turnId: failing.turn!.id, status: TurnStatus.FAILED });
    const next = await ledger.beginTurn({ session: id, lease: {}, messages: [user("x")] });
    expect(next.turn!.parentTurnId).toBe(head);
    expect(next.interrupted).toBeUndefined();
    await ledger.completeTurn({ turnId: next.turn!.id });
    await ledger.recordTurn({ session: id, messages: [user("free")] });
  });

  it("a lease is renewed for its own time by appends and RenewLease, and RenewLease can change that time", async () => {
    const { quire, session, expire } = open;
    const { ledger } = quire;
    const { id } = await session();
    const { turn, lease } = await ledger.beginTurn({ session: id, lease: { seconds: 1_000 } });
    const turnId = turn!.id;
    const until = async () =>
      (await ledger.getSession({ session: id })).session!.lease!.expireTime!.getTime();
    const taken = lease!.expireTime!.getTime();
    expect(await until()).toBe(taken);

    await expire(id);
    await ledger.appendMessages({ turnId, messages: [user("x")] });
    expect(await until()).toBeGreaterThanOrEqual(taken);
    await expire(id);
    const renewed = await ledger.renewLease({ turnId });
    expect(renewed.lease).toMatchObject({ turnId, seconds: 1_000 });
    expect(renewed.lease!.expireTime!.getTime()).toBeGreaterThanOrEqual(taken);
    const longer = await ledger.renewLease({ turnId, seconds: 3_600 });
    expect(longer.lease!.expireTime!.getTime() - taken).toBeGreaterThanOrEqual(2_600_000);
    await ledger.appendMessages({ turnId, messages: [user("y")] });
    expect((await until()) - taken).toBeGreaterThanOrEqual(2_600_000);
    expect(await reasonOf(ledger.recordTurn({ session: id, messages: [user("x")] }))).toBe("SESSION_BUSY");
  });

  it("an expired lease that nobody took is its turn's still", async () => {
    const { quire, session, expire } = open;
    const { ledger } = quire;
    const { id } = await session();
    const { turn } = await ledger.beginTurn({ session: id, lease: {}, messages: [user("slow")] });
    await expire(id);
    const completed = await ledger.completeTurn({ turnId: turn!.id });
    expect(completed).toMatchObject({ headTurnId: turn!.id, branched: false });
  });

  it("who takes an expired lease finds what the turn before had appended, and that turn's writer is told", async () => {
    const { quire, session, expire } = open;
    const { ledger } = quire;
    const { id, head } = await session();
    const { turn: late } = await ledger.beginTurn({ session: id, lease: {}, messages: [user("slow")] });
    await ledger.appendMessages({ turnId: late!.id, messages: [assistant("one moment")] });
    await expire(id);
    const { turn, interrupted, lease } = await ledger.beginTurn({ session: id, lease: {} });
    expect(interrupted).toMatchObject({
      id: late!.id,
      parentTurnId: head,
      status: TurnStatus.COMPLETED,
      interruptedByTurnId: turn!.id,
      depth: 2,
    });
    expect(turn!.parentTurnId).toBe(late!.id);
    expect(lease!.turnId).toBe(turn!.id);

    const told = {
      reason: "INTERRUPTED",
      metadata: { turn_id: late!.id, by_turn_id: turn!.id, status: "COMPLETED" },
    };
    const turnId = late!.id;
    expect(await refusal(ledger.appendMessages({ turnId, messages: [user("x")] }))).toMatchObject(told);
    expect(await refusal(ledger.completeTurn({ turnId }))).toMatchObject(told);
    expect(await refusal(ledger.renewLease({ turnId }))).toMatchObject(told);
    const event = { content: [user("x").parts[0]!] };
    await quire.capsules.putCapsule({ name: "atlas", body: { persona: { corePrompt: "You are Atlas." } } });
    const context = { session: id, capsule: "atlas", event, activeTurnId: turnId };
    expect(await refusal(quire.assembly.buildContext({ context }))).toMatchObject(told);

    await ledger.completeTurn({ turnId: turn!.id, result: { messages: [user("next")] } });
    expect(await textsOf(quire, id)).toEqual(["first", "slow", "one moment", "next"]);
  });

  it("a head that moves after a lease expired ends the lease: the turn stays open, and cannot become the head", async () => {
    const { quire, session, expire } = open;
    const { ledger } = quire;
    const { id, head } = await session();
    const { turn } = await ledger.beginTurn({ session: id, lease: {}, messages: [user("slow")] });
    const turnId = turn!.id;
    await expire(id);
    const { headTurnId } = await ledger.recordTurn({ session: id, messages: [user("quick")] });
    expect((await ledger.getSession({ session: id })).session!.lease).toBeUndefined();
    expect(await reasonOf(ledger.renewLease({ turnId }))).toBe("LEASE_LOST");
    expect(await reasonOf(ledger.completeTurn({ turnId }))).toBe("HEAD_MOVED");
    const after = await ledger.beginTurn({ session: id, lease: {} });
    expect(after.interrupted).toBeUndefined();
    await ledger.completeTurn({ turnId: after.turn!.id, status: TurnStatus.FAILED });
    await ledger.completeTurn({ turnId, onHeadMoved: OnHeadMoved.APPEND });
    expect(await textsOf(quire, id)).toEqual(["first", "quick", "slow"]);

    const moved = await ledger.beginTurn({ session: id, lease: {} });
    await expire(id);
    await ledger.updateSession({ session: id, headTurnId: head, expectedHeadTurnId: turnId });
    expect(await reasonOf(ledger.renewLease({ turnId: moved.turn!.id }))).toBe("LEASE_LOST");
    expect(headTurnId).not.toBe(head);
  });

  it("an interrupt ends the open turn with what it has, under the head, and takes its lease", async () => {
    const { quire, session } = open;
    const { ledger } = quire;
    const { id } = await session();
    const { turn: first } = await ledger.beginTurn({ session: id, lease: {}, messages: [user("one")] });
    const { turn: second, interrupted } = await ledger.beginTurn({
      session: id,
      lease: interrupt,
      messages: [user("two")],
    });
    expect(interrupted).toMatchObject({ id: first!.id, status: TurnStatus.COMPLETED });
    expect(second).toMatchObject({ parentTurnId: first!.id, status: TurnStatus.OPEN });
    const found = recordedTurn(await ledger.getTurn({ turnId: first!.id }));
    expect(found.turn).toMatchObject({ interruptedByTurnId: second!.id });
    await ledger.completeTurn({ turnId: second!.id });
    expect(await textsOf(quire, id)).toEqual(["first", "one", "two"]);
    const log: unknown[] = [];
    for await (const { event } of ledger.watchSession({ session: id, afterSequence: 0 })) {
      if (event?.$case === "headMoved") log.push(event.value.cause);
      if (log.length === 3) break;
    }
    expect(log).toEqual([HeadMoveCause.RECORDED, HeadMoveCause.INTERRUPTED, HeadMoveCause.COMPLETED]);
  });

  it("calls that an interrupted turn leaves open are given up by the next one unasked, or answered by it", async () => {
    const { quire, session } = open;
    const { ledger } = quire;
    const { id } = await session();
    const opened = { session: id, lease: interrupt, messages: [user("go"), toolCalls("c1", "c2")] };
    await ledger.beginTurn(opened);
    const { turn: empty, interrupted } = await ledger.beginTurn({ session: id, lease: interrupt });
    expect(interrupted).toMatchObject({
      status: TurnStatus.AWAITING,
      openItems: [{ id: "c1" }, { id: "c2" }],
    });
    await ledger.completeTurn({ turnId: empty!.id, status: TurnStatus.FAILED });
    const { turn: next } = await ledger.recordTurn({ session: id, messages: [user("never mind")] });
    expect(next!.abandonedItems).toMatchObject([{ id: "c1" }, { id: "c2" }]);

    await ledger.beginTurn(opened);
    const { turn: answering } = await ledger.beginTurn({ session: id, lease: interrupt });
    await ledger.appendMessages({
      turnId: answering!.id,
      messages: [toolResults("c1", "c2"), assistant("so")],
    });
    const { turn: answered } = await ledger.completeTurn({ turnId: answering!.id });
    expect(answered).toMatchObject({ abandonedItems: [], status: TurnStatus.COMPLETED });
  });

  it("contexts after an interrupt are valid: calls that nobody answered have results", async () => {
    const { quire, session } = open;
    const { ledger, assembly } = quire;
    const { id } = await session();
    await quire.capsules.putCapsule({ name: "atlas", body: { persona: { corePrompt: "You are Atlas." } } });
    await ledger.beginTurn({ session: id, lease: {}, messages: [user("go"), toolCalls("c1", "c2")] });
    const { turn } = await ledger.beginTurn({ session: id, lease: interrupt });
    for (const [render, model] of [
      [BodyFormat.ANTHROPIC_MESSAGES, "claude-opus-5-5"],
      [BodyFormat.OPENAI_CHAT, "gpt-4o"],
      [BodyFormat.OPENAI_RESPONSES, "gpt-4o"],
      [BodyFormat.GEMINI, "gemini-3.8-flash"],
    ] as const) {
      const event = { content: [user("stop, do this").parts[0]!] };
      const context = { session: id, capsule: "atlas", model, render, event, activeTurnId: turn!.id };
      const { body } = (await assembly.buildContext({ context })).rendered!;
      const { problems } = await assembly.validateBody({ format: render, body });
      expect(problems).toEqual([]);
      expect(body.toString()).toContain("no result was recorded");
    }
  });

  it("an interrupted turn without a message fails, and so does one that is to be discarded; the head stays", async () => {
    const { quire, session } = open;
    const { ledger } = quire;
    const { id, head } = await session();
    await ledger.beginTurn({ session: id, lease: {} });
    const onlySystem = await ledger.beginTurn({ session: id, lease: interrupt, messages: [system("s")] });
    expect(onlySystem.interrupted).toMatchObject({ status: TurnStatus.FAILED, messageCount: 0 });
    const full = await ledger.beginTurn({ session: id, lease: interrupt, messages: [user("no")] });
    expect(full.interrupted).toMatchObject({ status: TurnStatus.FAILED, messageCount: 1 });
    const last = await ledger.beginTurn({
      session: id,
      lease: { ...interrupt, discard: true },
      messages: [user("yes")],
    });
    expect(last.interrupted).toMatchObject({ id: full.turn!.id, status: TurnStatus.FAILED });
    expect(last.turn!.parentTurnId).toBe(head);
    await ledger.completeTurn({ turnId: last.turn!.id });
    expect(await textsOf(quire, id)).toEqual(["first", "yes"]);
  });

  it("an interrupt that names the head it knows is refused when the head would move, and interrupts nobody", async () => {
    const { quire, session } = open;
    const { ledger } = quire;
    const { id, head } = await session();
    const { turn } = await ledger.beginTurn({ session: id, lease: {}, messages: [user("one")] });
    const named = { session: id, parentTurnId: head, lease: interrupt };
    expect(await reasonOf(ledger.beginTurn(named))).toBe("HEAD_MOVED");
    await ledger.appendMessages({ turnId: turn!.id, messages: [assistant("still here")] });
    const discarding = await ledger.beginTurn({ ...named, lease: { ...interrupt, discard: true } });
    expect(discarding.turn!.parentTurnId).toBe(head);
  });

  it("a lease is for the head: no branch takes one, nor a turn that was written under another head", async () => {
    const { quire, session } = open;
    const { ledger } = quire;
    const { id } = await session();
    const branch = { session: id, lease: {}, onHeadMoved: OnHeadMoved.BRANCH };
    expect(await refusal(ledger.beginTurn(branch))).toMatchObject({
      reason: "INVALID_FIELD",
      violations: [{ field: "lease" }],
    });
    expect(await reasonOf(ledger.beginTurn({ session: id, lease: {}, parentTurnId: "" }))).toBe("HEAD_MOVED");
    for (const seconds of [3_601, 4_294_967_295]) {
      const refused = await refusal(ledger.beginTurn({ session: id, lease: { seconds } }));
      expect(refused).toMatchObject({ reason: "INVALID_FIELD", violations: [{ field: "lease.seconds" }] });
    }
  });

  it("a request that comes again gets its first answer, whoever has the lease by then", async () => {
    const { quire, session } = open;
    const { ledger } = quire;
    const { id } = await session();
    const request = { requestId: `${id}/1`, session: id, lease: interrupt, messages: [user("one")] };
    const first = await ledger.beginTurn(request);
    expect(await ledger.beginTurn(request)).toEqual(first);
    const waiting = { ...request, requestId: `${id}/2`, lease: { onBusy: OnBusy.WAIT } };
    const second = await ledger.beginTurn({ session: id, lease: interrupt });
    expect(await ledger.beginTurn(request)).toEqual(first);
    await ledger.completeTurn({ turnId: second.turn!.id, status: TurnStatus.FAILED });
    const waited = await ledger.beginTurn(waiting);
    expect(await ledger.beginTurn(waiting)).toEqual(waited);
    expect(await textsOf(quire, id)).toEqual(["first", "one"]);
  });

  it("a session is deleted with its lease", async () => {
    const { quire, session } = open;
    const { ledger } = quire;
    const { id } = await session();
    const { turn } = await ledger.beginTurn({ session: id, lease: {} });
    await ledger.deleteSession({ session: id });
    expect(await reasonOf(ledger.renewLease({ turnId: turn!.id }))).toBe("TURN_NOT_FOUND");
    expect(await reasonOf(ledger.beginTurn({ session: id, lease: {} }))).toBe("SESSION_NOT_FOUND");
  });

  it("watchers are told who has the session, and that nobody has, without a sequence", async () => {
    const { quire, session } = open;
    const { ledger } = quire;
    const { id } = await session();
    const events = ledger.watchSession({ session: id })[Symbol.asyncIterator]();
    const next = async () => (await events.next()).value?.event;
    expect(await next()).toMatchObject({ $case: "watching", value: { lease: undefined } });
    const { turn } = await ledger.beginTurn({ session: id, lease: { holder: "web-2" } });
    expect(await next()).toMatchObject({
      $case: "leaseChanged",
      value: { lease: { turnId: turn!.id, holder: "web-2" } },
    });
    await ledger.completeTurn({ turnId: turn!.id, result: { messages: [user("x")] } });
    expect(await next()).toMatchObject({ $case: "headMoved", value: { toTurnId: turn!.id } });
    expect(await next()).toMatchObject({ $case: "leaseChanged", value: { lease: undefined } });
    await events.return?.();
  });
});
