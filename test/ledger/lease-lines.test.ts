import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { OnBusy } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import type { Timers } from "../../src/domain/clock.js";
import { QuireError } from "../../src/errors/quire-error.js";
import { createQuire } from "../../src/index.js";
import { LeaseLines } from "../../src/ledger/lease-lines.js";
import { openDatabase } from "../../src/storage/database.js";
import { refusal } from "../in-process/quire-fixture.js";
import { OpenLedger } from "../storage/ledger/open-ledger.js";
import { handTimers } from "../support/hand-timers.js";
import { user } from "../support/messages.js";
import { startPostgres } from "../support/postgres.js";
import { failures, startTestServer } from "../support/server.js";
import { expireLease, leasedDatabases } from "./leased-sessions.js";
import { ledgerCalls } from "./ledger-calls.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const wait = { seconds: 60, onBusy: OnBusy.WAIT, discard: false, holder: "" };
const reject = { ...wait, onBusy: OnBusy.REJECT };
/** Nobody else can commit while a test runs, or the look is made by hand: what wakes is signalled. */
const never = { watchPollMs: 1_000_000 };

const [sqlite] = leasedDatabases(undefined);

async function openLedger(url: string, timers: Timers = handTimers()): Promise<OpenLedger> {
  const ledger = new OpenLedger(await openDatabase({ url, poolSize: 4 }), { ...never, timers });
  onTestFinished(() => ledger.close());
  return ledger;
}

/** Waits until so many stand in line. */
async function inLine(ledger: OpenLedger, count: number): Promise<void> {
  while (ledger.deps.leases.size !== count) await new Promise((resolve) => setImmediate(resolve));
}

const waitFor = (ledger: OpenLedger, session: string, text: string, signal?: AbortSignal) =>
  ledger.begin({ session, lease: wait, messages: [user(text)] }, signal);

describe.each(leasedDatabases(postgres))("waiting for a lease on $name", (database) => {
  const it = test.skipIf(database.isMissing);

  it("those who wait get the session one after the other, in the order in which they came", async () => {
    const ledger = await openLedger(await database.url());
    const session = await ledger.create();
    const first = await ledger.begin({ session, lease: reject });
    const order: string[] = [];
    const waiters = [];
    for (const text of ["a", "b", "c"]) {
      const waiter = waitFor(ledger, session, text).then(({ turn }) => {
        order.push(text);
        return turn!;
      });
      waiters.push(waiter);
      await inLine(ledger, waiters.length);
    }
    expect(order).toEqual([]);
    let before = first.turn!.id;
    for (const waiter of waiters) {
      await ledger.complete(before);
      const { id, parentTurnId } = await waiter;
      expect(parentTurnId).toBe(before);
      before = id;
    }
    expect(order).toEqual(["a", "b", "c"]);
    expect(ledger.deps.leases.size).toBe(0);
    expect(ledger.deps.watches.size.watchers).toBe(0);
  });

  it("a turn that waited begins when it gets the session", async () => {
    let nowMs = 1_000;
    const url = await database.url();
    const ledger = new OpenLedger(await openDatabase({ url, poolSize: 4 }), {
      ...never,
      clock: { now: () => nowMs },
    });
    onTestFinished(() => ledger.close());
    const session = await ledger.create();
    const { turn } = await ledger.begin({ session, lease: reject });
    const waiting = waitFor(ledger, session, "x");
    await inLine(ledger, 1);
    nowMs = 9_000;
    await ledger.complete(turn!.id);
    const waited = await waiting;
    expect(waited.turn!.createTime).toEqual(new Date(9_000));
    expect(waited.turn!.id > turn!.id).toBe(true);
  });

  it("the first in line takes an expired lease when its time is over", async () => {
    const timers = handTimers();
    const ledger = await openLedger(await database.url(), timers);
    const session = await ledger.create();
    const { turn } = await ledger.begin({ session, lease: reject, messages: [user("slow")] });
    const waiting = waitFor(ledger, session, "next");
    await timers.set(1);
    await expireLease(ledger.database, session);
    timers.runOutNext();
    const waited = await waiting;
    expect(waited.interrupted).toMatchObject({ id: turn!.id, status: TurnStatus.COMPLETED });
  });

  it("what another server frees is found by the look for others' writes", async () => {
    const url = await database.url();
    const here = await openLedger(url);
    const there = await openLedger(url);
    const session = await here.create();
    const { turn } = await there.begin({ session, lease: reject });
    const waiting = waitFor(here, session, "x");
    await inLine(here, 1);
    await here.deps.watches.poll();
    await there.complete(turn!.id);
    await here.deps.watches.poll();
    expect((await waiting).turn!.parentTurnId).toBe(turn!.id);
  });

  it("leases live by the database's clock, whatever the servers' clocks say", async () => {
    const url = await database.url();
    const at = async (nowMs: number) => {
      const clock = { now: () => nowMs };
      const ledger = new OpenLedger(await openDatabase({ url, poolSize: 4 }), { ...never, clock });
      onTestFinished(() => ledger.close());
      return ledger;
    };
    const yesterday = await at(Date.now() - 86_400_000);
    const tomorrow = await at(Date.now() + 86_400_000);
    const session = await yesterday.create();
    const { lease, turn } = await yesterday.begin({ session, lease: reject });
    expect(Math.abs(lease!.expireTime!.getTime() - Date.now())).toBeLessThan(3_600_000);
    expect(await refusal(tomorrow.begin({ session, lease: reject }))).toMatchObject({
      reason: "SESSION_BUSY",
    });
    expect(await refusal(tomorrow.record({ session }))).toMatchObject({ reason: "SESSION_BUSY" });
    await expireLease(yesterday.database, session);
    const taken = await tomorrow.begin({ session, lease: reject });
    expect(taken.interrupted!.id).toBe(turn!.id);
  });
});

describe("waiting for a lease", () => {
  test("who goes away or runs out of time leaves the line, and the others move up", async () => {
    const timers = handTimers();
    const ledger = await openLedger(await sqlite!.url(), timers);
    const session = await ledger.create();
    const { turn } = await ledger.begin({ session, lease: reject });
    const leaving = new AbortController();
    const waiters = ["a", "b", "c"].map((text, at) =>
      waitFor(ledger, session, text, at < 2 ? leaving.signal : undefined),
    );
    await inLine(ledger, 3);
    await timers.set(1);
    const gone = waiters.slice(0, 2).map(refusal);
    leaving.abort(new QuireError("DEADLINE_EXCEEDED", "the deadline passed"));
    for (const each of gone) expect((await each).reason).toBe("DEADLINE_EXCEEDED");
    expect(ledger.deps.leases.size).toBe(1);
    await ledger.complete(turn!.id);
    expect((await waiters[2]!).turn!.parentTurnId).toBe(turn!.id);
  });

  test("a session that is deleted is waited for by nobody any more", async () => {
    const ledger = await openLedger(await sqlite!.url());
    const session = await ledger.create();
    await ledger.begin({ session, lease: reject });
    const waiters = ["a", "b"].map((text) => refusal(waitFor(ledger, session, text)));
    await inLine(ledger, 2);
    await ledger.delete(session);
    for (const { reason } of await Promise.all(waiters)) expect(reason).toBe("SESSION_NOT_FOUND");
    expect(ledger.deps.watches.size.watchers).toBe(0);
  });

  test("where too many wait, or with too much, a further one is refused at once", async () => {
    const ledger = await openLedger(await sqlite!.url());
    const { deps } = ledger;
    const max = { ofSession: 2, ofServer: 3, bytes: 1_000 };
    const lines = new LeaseLines(deps.sessions, deps.watches, handTimers(), max);
    const [first, second] = [await ledger.create(), await ledger.create()];
    const busy = new QuireError("SESSION_BUSY", "busy", { retryAfterMs: 1_000 });
    const leaving = new AbortController();
    const enter = (session: string, bytes: number) => {
      const key = { tenantId: "default", method: "BeginTurn", requestId: "" };
      return refusal(
        lines.wait(
          key,
          session,
          bytes,
          async () => {
            throw busy;
          },
          () => leaving.signal,
        ),
      );
    };
    const waiting = [enter(first, 10), enter(first, 10)];
    while (lines.size < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(await enter(first, 10)).toBe(busy);
    expect(await enter(second, 990)).toBe(busy);
    waiting.push(enter(second, 980));
    while (lines.size < 3) await new Promise((resolve) => setImmediate(resolve));
    expect(await enter(second, 0)).toBe(busy);
    leaving.abort(new QuireError("CANCELLED", "gone"));
    for (const { reason } of await Promise.all(waiting)) expect(reason).toBe("CANCELLED");
    expect(lines.size).toBe(0);
  });

  test("a request that is sent again while it waits is answered with its first copy", async () => {
    const ledger = await openLedger(await sqlite!.url());
    const session = await ledger.create();
    const { turn } = await ledger.begin({ session, lease: reject });
    const again = () => ledger.begin({ requestId: "r", session, lease: wait, messages: [user("once")] });
    const first = again();
    await inLine(ledger, 1);
    const other = waitFor(ledger, session, "other");
    await inLine(ledger, 2);
    const second = again();
    await inLine(ledger, 3);
    await ledger.complete(turn!.id);
    expect(await second).toEqual(await first);
    await ledger.complete((await first).turn!.id);
    expect((await other).turn!.parentTurnId).toBe((await first).turn!.id);
  });

  test("an interrupt overtakes those who wait, and they wait on", async () => {
    const ledger = await openLedger(await sqlite!.url());
    const session = await ledger.create();
    await ledger.begin({ session, lease: reject, messages: [user("a")] });
    const waiting = waitFor(ledger, session, "b");
    await inLine(ledger, 1);
    const urgent = await ledger.begin({ session, lease: { ...wait, onBusy: OnBusy.INTERRUPT } });
    expect(ledger.deps.leases.size).toBe(1);
    await ledger.complete(urgent.turn!.id, { status: TurnStatus.FAILED });
    expect((await waiting).turn!.parentTurnId).toBe(urgent.turn!.parentTurnId);
  });
});

describe("waiting for a lease over the wire", () => {
  test("those who wait take no place at work, and end when the server stops", async () => {
    const server = await startTestServer({ maxConcurrentCalls: 2 });
    const ledger = ledgerCalls(server.ledger);
    const { id: session } = await ledger.session();
    const { turn } = await ledger.beginTurn({ session, lease: {} });
    const watcher = ledger.watch({ session });
    const order: string[] = [];
    const waiters = ["a", "b", "c", "d", "e", "f"].map((text) =>
      ledger.beginTurn({ session, lease: wait, messages: [user(text)] }).then(({ turn: begun }) => {
        order.push(text);
        return begun!.id;
      }),
    );
    let before = turn!.id;
    for (const waiter of waiters.slice(0, 4)) {
      await ledger.completeTurn({ turnId: before, result: { messages: [user("done")] } });
      before = await waiter;
    }
    expect(order).toEqual(["a", "b", "c", "d"]);
    const left = failures(waiters.slice(4));
    watcher.cancel();
    await server.stop();
    for (const { reason, retry } of await left)
      expect({ reason, retry }).toEqual({ reason: "SHUTTING_DOWN", retry: true });
  });

  test("in process, who waits ends when the engine is closed", async () => {
    const quire = await createQuire({
      database: await sqlite!.url(),
      primeFile: "",
      logLevel: "silent",
    });
    const { session } = await quire.ledger.createSession({});
    await quire.ledger.beginTurn({ session: session!.id, lease: {} });
    const waiting = refusal(quire.ledger.beginTurn({ session: session!.id, lease: wait }));
    await quire.ledger.getSession({ session: session!.id });
    await quire.close();
    expect((await waiting).reason).toBe("SHUTTING_DOWN");
  });
});
