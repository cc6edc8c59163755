import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { OnHeadMoved } from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { getTurn } from "../../../src/ledger/read-turns.js";
import { findImpossibleRows } from "../../model/check-tables.js";
import { recordedTurn } from "../../support/found-turn.js";
import { user } from "../../support/messages.js";
import { startPostgres } from "../../support/postgres.js";
import { startCuttingProxy } from "./cutting-proxy.js";
import { OpenLedger, openLedger, refusal } from "./open-ledger.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** A deadlock that PostgreSQL would end soon, and a retry hide, hangs here until the test has timed out. */
const deadlockTimeout = "10min";

describe.skipIf(postgres === undefined)("two servers over one PostgreSQL", () => {
  let one: OpenLedger;
  let other: OpenLedger;
  let holder: pg.Client;
  let observer: pg.Client;

  beforeAll(async () => {
    const { url } = postgres!;
    holder = await connect(url);
    // Within a transaction the activity of others would look as it did at first.
    observer = await connect(url);
    await observer.query(
      `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET deadlock_timeout = '${deadlockTimeout}'`,
    );
    one = await OpenLedger.on(url);
    other = await OpenLedger.on(url);
  });
  beforeEach(() => one.clear());
  afterAll(async () => {
    await Promise.all([one.close(), other.close(), holder.end(), observer.end()]);
  });

  /** Holds a session's row until the writers wait for a lock, one after the other, then lets go. */
  async function holdUntilBlocked(session: string, writers: readonly (() => Promise<unknown>)[]) {
    await holder.query("BEGIN");
    await holder.query("SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE", [session]);
    const outcomes: Promise<unknown>[] = [];
    for (const [index, write] of writers.entries()) {
      outcomes.push(write().catch((error: unknown) => error));
      while ((await blockedBackends()) <= index) await new Promise((next) => setTimeout(next, 5));
    }
    await holder.query("COMMIT");
    return Promise.all(outcomes);
  }

  async function blockedBackends(): Promise<number> {
    const text =
      "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    const { rows } = await observer.query({ text, rowMode: "array" });
    return Number(rows[0]![0]);
  }

  it("answer one request that reaches both the same, and do it once", async () => {
    const session = await one.create();
    const request = { session, requestId: "twice" };
    const [first, second] = await holdUntilBlocked(session, [
      () => one.record(request),
      () => other.record(request),
    ]);
    expect(second).toEqual(first);
    expect(first).toMatchObject({ branched: false });
    expect(await one.count("turns")).toBe(1);
  });

  it("refuse another body under one request id, though both come at once", async () => {
    const session = await one.create();
    const [first, second] = await holdUntilBlocked(session, [
      () => one.record({ session, requestId: "twice" }),
      () => other.record({ session, requestId: "twice", messages: [user("another body")] }),
    ]);
    expect(first).toMatchObject({ branched: false });
    expect(second).toMatchObject({ reason: "REQUEST_ID_REUSED" });
  });

  it("append to one open turn one after the other", async () => {
    const session = await one.create();
    const { turn } = await one.begin({ session });
    await holdUntilBlocked(session, [
      () => one.append(turn!.id, "first"),
      () => other.append(turn!.id, "second"),
    ]);
    const ended = await one.complete(turn!.id);
    expect(ended.turn!.messageCount).toBe(3);
    expect(await findImpossibleRows(one.database)).toEqual([]);
  });

  it("complete a turn with what the other appended", async () => {
    const session = await one.create();
    const { turn } = await one.begin({ session });
    const [, ended] = await holdUntilBlocked(session, [
      () => one.append(turn!.id, "the last word"),
      () => other.complete(turn!.id),
    ]);
    expect(ended).toMatchObject({ turn: { messageCount: 2, status: "TURN_STATUS_COMPLETED" } });
    expect(await findImpossibleRows(one.database)).toEqual([]);
  });

  it("never write to a turn that the other completed", async () => {
    const session = await one.create();
    const { turn } = await one.begin({ session });
    const [ended, late] = await holdUntilBlocked(session, [
      () => one.complete(turn!.id),
      () => other.append(turn!.id, "too late"),
    ]);
    expect(late).toMatchObject({ reason: "TURN_NOT_OPEN" });
    const again = await refusal(other.complete(turn!.id, { onHeadMoved: OnHeadMoved.BRANCH }));
    expect(again).toBe("TURN_NOT_OPEN");
    expect(recordedTurn(await getTurn(one.deps, "default", turn!.id)).turn).toEqual(
      (ended as { turn: unknown }).turn,
    );
  });

  it("keep each other's changes to a session", async () => {
    const session = await one.create();
    await holdUntilBlocked(session, [
      () => one.update(session, { setMetadata: { one: "1" } }),
      () => other.update(session, { setMetadata: { other: "2" } }),
    ]);
    const found = await one.deps.sessions.find("default", session);
    expect(JSON.parse(found!.row.metadataJson)).toEqual({ one: "1", other: "2" });
  });

  it("change a session whose head the other moves meanwhile", async () => {
    const session = await one.create();
    const [recorded, updated] = await holdUntilBlocked(session, [
      () => one.record({ session }),
      () => other.update(session, { setMetadata: { other: "2" } }),
    ]);
    const { turn } = recorded as Awaited<ReturnType<OpenLedger["record"]>>;
    expect(updated).toMatchObject({ session: { headTurnId: turn!.id, metadata: { other: "2" } } });
  });

  it("do not deadlock when one moves a head that the other extends", async () => {
    const session = await one.create();
    const { turn: first } = await one.record({ session });
    const { turn: second } = await one.record({ session, parentTurnId: first!.id });
    const [recorded, moved] = await holdUntilBlocked(session, [
      () => one.record({ session, parentTurnId: second!.id }),
      () => other.update(session, { headTurnId: first!.id, expectedHeadTurnId: second!.id }),
    ]);
    expect(recorded).toMatchObject({ branched: false });
    expect(moved).toMatchObject({ reason: "HEAD_MOVED" });
  });

  it("do not deadlock when they name the same sessions by label and by alias", async () => {
    const [first, second] = [await one.create(), await one.create()];
    await one.alias("first", first);
    await one.alias("second", second);
    for (let round = 0; round < 20; round++) {
      const onHeadMoved = OnHeadMoved.BRANCH;
      const both = (ledger: OpenLedger, ...sessions: readonly string[]) =>
        sessions.map((session) => ledger.record({ session, onHeadMoved }));
      await Promise.all([...both(one, second, "first"), ...both(other, first, "second")]);
    }
    expect(await one.count("turns")).toBe(80);
  });

  it("never make one name both a label and another session's alias", async () => {
    for (let round = 0; round < 8; round++) {
      const [named, renamed] = [await one.create(), await one.create()];
      const name = `name-${round}`;
      await Promise.allSettled([
        one.alias(name, named),
        other.create({ label: name }),
        other.update(renamed, { label: name }),
      ]);
    }
    expect(await findImpossibleRows(one.database)).toEqual([]);
  });

  it("make one session of one request that reaches both", async () => {
    for (let round = 0; round < 8; round++) {
      const request = { label: `label-${round}`, requestId: `${round}` };
      const [first, second] = await Promise.all([one.create(request), other.create(request)]);
      expect(second).toBe(first);
    }
  });

  it("erase a session while the other writes to it, whole or not at all", async () => {
    for (let round = 0; round < 5; round++) {
      const session = await one.create();
      const { turn } = await one.record({ session });
      const writes = [
        other.record({ session, parentTurnId: turn!.id }),
        other.begin({ session, parentTurnId: turn!.id }),
        other.fork(turn!.id),
        other.update(session, { setMetadata: { a: "b" } }),
      ];
      await Promise.allSettled([one.delete(session), ...writes]);
      await refusal(one.delete(session));
    }
    expect(await findImpossibleRows(one.database)).toEqual([]);
  });
});

describe.skipIf(postgres === undefined)("a PostgreSQL that loses connections", () => {
  async function openThroughProxy(timeoutMs?: number) {
    const proxy = await startCuttingProxy(await postgres!.createDatabase());
    onTestFinished(() => proxy.close());
    return { proxy, ledger: await openLedger(proxy.url, timeoutMs) };
  }

  it("does not get a write twice when the answer to its commit was lost", async () => {
    const { proxy, ledger } = await openThroughProxy();
    const session = await ledger.create();
    const { turn } = await ledger.begin({ session });
    const append = () => ledger.append(turn!.id, "once", { requestId: "append" });
    proxy.cutAt("COMMIT", "after");
    const [named, nameless] = await Promise.all([refusal(append()), refusal(ledger.record({ session }))]);
    expect([named, nameless]).toContain("COMMIT_OUTCOME_UNKNOWN");
    // The record was put off to the next batch, or never begun: only what was committed is there.
    await append();
    await append();
    const ended = await ledger.complete(turn!.id, { onHeadMoved: OnHeadMoved.BRANCH });
    expect(ended.turn!.messageCount).toBe(2);
    expect(await findImpossibleRows(ledger.database)).toEqual([]);
  });

  it.each([
    "is lost",
    "never comes",
  ])("when the answer to a commit %s, says that the write may be there, and does it once", async (how) => {
    const { proxy, ledger } = await openThroughProxy(2_000);
    const spoil = () => (how === "is lost" ? proxy.cutAt("COMMIT", "after") : proxy.hangAt("COMMIT"));
    const unknown = { reason: "COMMIT_OUTCOME_UNKNOWN", message: expect.stringContaining("request_id") };
    spoil();
    await expect(ledger.create({ label: "unsure" })).rejects.toMatchObject(unknown);
    // Under a request id the answer that was stored tells that the commit happened.
    spoil();
    const session = await ledger.create({ requestId: "create", label: "sure" });
    const record = () => ledger.record({ session, requestId: "record" });
    spoil();
    await expect(record()).rejects.toMatchObject(unknown);
    expect((await record()).turn!.depth).toBe(1);
    expect(await ledger.count("turns")).toBe(1);
    expect(await ledger.count("sessions")).toBe(2);
  });

  it("gets a write once when the connection was lost before the commit", async () => {
    const { proxy, ledger } = await openThroughProxy();
    const sessions = [await ledger.create(), await ledger.create()];
    proxy.cutAt("INSERT INTO turns", "before");
    const turns = await Promise.all(sessions.map((session) => ledger.record({ session })));
    expect(turns.map(({ turn }) => turn!.depth)).toEqual([1, 1]);
    expect(await ledger.count("turns")).toBe(2);
  });

  it("is unavailable, not at fault, when a lone write loses its connection", async () => {
    const { proxy, ledger } = await openThroughProxy();
    const session = await ledger.create();
    proxy.cutAt("INSERT INTO turns", "before");
    expect(await refusal(ledger.record({ session }))).toBe("STORAGE_UNAVAILABLE");
    expect((await ledger.record({ session })).turn!.depth).toBe(1);
  });
});

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}
