import { getEventListeners } from "node:events";
import { afterAll, describe, expect, it } from "vitest";
import { limits } from "../../src/ledger/limits.js";
import { SessionWatches } from "../../src/ledger/session-watches.js";
import { type WatchEvent, watchSession } from "../../src/ledger/watch-session.js";
import { HeadLog } from "../../src/storage/ledger/head-log.js";
import { type OpenLedger, openLedger, refusal, sqliteUrl } from "../storage/ledger/open-ledger.js";
import { startPostgres } from "../support/postgres.js";
import { type CountedWatch, watchedLedger } from "./watched-ledger.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const nothing = { sessions: 0, watchers: 0, due: 0, tails: 0, wakes: 0 };

const repeat = <T>(count: number, make: (index: number) => T): Promise<Awaited<T>[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

const settled = async (ledger: OpenLedger) => {
  const { watches } = ledger.deps;
  while (watches.size.due + watches.size.tails + watches.size.wakes > 0)
    await new Promise((next) => setImmediate(next));
};

/** Turns under each other; the id of the last. */
async function turns(ledger: OpenLedger, session: string, count: number, head = ""): Promise<string> {
  let parentTurnId = head;
  for (let index = 0; index < count; index++)
    parentTurnId = (await ledger.record({ session, parentTurnId })).turn!.id;
  return parentTurnId;
}

describe.each([
  ["sqlite", () => Promise.resolve(sqliteUrl())],
  ["postgresql", () => postgres!.createDatabase()],
] as const)("watches on %s", (dialect, newDatabase) => {
  const rule = it.skipIf(dialect === "postgresql" && postgres === undefined);

  rule("idle: a look is as many queries for sixty sessions as for one", async () => {
    const { ledger, poll, watch } = await watchedLedger(await newDatabase());
    const looks: number[] = [];
    for (const count of [1, 59]) {
      const watches = await repeat(count, async () => watch(await ledger.create()));
      await settled(ledger);
      await poll();
      looks.push(Math.min(await poll(), await poll(), await poll()));
      expect(watches.map(({ wakes }) => wakes)).toEqual(Array(count).fill(0));
    }
    expect(looks).toEqual([1, 1]);
  });

  rule("a record wakes the watchers of its session once each, and is read once for all of them", async () => {
    const { ledger, seen, watch } = await watchedLedger(await newDatabase());
    const session = await ledger.create();
    const others = await repeat(20, async () => watch(await ledger.create()));
    const watches = await repeat(250, () => watch(session));
    await settled(ledger);
    const unwatched = await ledger.create();
    const before = seen.queries;
    await turns(ledger, unwatched, 3);
    expect(seen.queries).toBe(before);

    const head = await turns(ledger, session, 1);
    await Promise.all(watches.map((one) => one.woken(1)));
    await settled(ledger);
    expect(seen.queries - before).toBe(2);
    await turns(ledger, session, 1, head);
    await Promise.all(watches.map((one) => one.woken(2)));
    await settled(ledger);
    expect(seen.queries - before).toBe(4);
    expect(watches.map(({ wakes }) => wakes)).toEqual(Array(250).fill(2));
    expect(others.map(({ wakes }) => wakes)).toEqual(Array(20).fill(0));
  });

  rule("what another server wrote is found in three queries, and wakes nobody else", async () => {
    const url = await newDatabase();
    const { ledger, poll, watch } = await watchedLedger(url);
    const other = await openLedger(url);
    const sessions = await repeat(50, () => ledger.create());
    const watches = await repeat(50, (index) => watch(sessions[index]!));
    await settled(ledger);
    await poll();
    await turns(other, sessions[7]!, 3);
    await turns(other, sessions[9]!, 1);
    expect(await poll()).toBe(3);
    await Promise.all([watches[7]!.woken(1), watches[9]!.woken(1)]);
    expect([watches[7]!.sequence, watches[9]!.sequence]).toEqual([3, 1]);
    expect(watches.reduce((sum, { wakes }) => sum + wakes, 0)).toBe(2);
    await other.delete(sessions[3]!);
    await poll();
    await watches[3]!.woken(1);
    expect(watches[3]!.watch.feed.isDeleted).toBe(true);
  });

  rule("a look that fails is warned of once, made again later, and misses nothing", async () => {
    const url = await newDatabase();
    const { ledger, seen, poll, watch } = await watchedLedger(url);
    const other = await openLedger(url);
    const session = await ledger.create();
    const watches = await repeat(30, () => watch(session));
    await settled(ledger);
    await poll();
    seen.down = new Error("the database is down");
    for (let turn = 0; turn < 3; turn++) expect(await poll()).toBe(1);
    const head = await turns(other, session, 1);
    expect(seen.failures).toHaveLength(1);
    seen.down = undefined;
    await poll();
    await Promise.all(watches.map((one) => one.woken(1)));

    // The write is done, but what it says to the watches cannot be read: it is, at the next look.
    await settled(ledger);
    seen.down = new Error("the database is down again");
    await turns(ledger, session, 1, head);
    await poll();
    expect(seen.failures).toHaveLength(2);
    seen.down = undefined;
    await poll();
    await Promise.all(watches.map((one) => one.woken(2)));
    expect(watches[0]!.sequence).toBe(2);
  });

  rule("a watcher that does not read keeps nothing in memory, and then gets all moves in order", async () => {
    const { ledger } = await watchedLedger(await newDatabase());
    const session = await ledger.create();
    const quick = watchSession(ledger.deps, "default", { session });
    const slow = watchSession(ledger.deps, "default", { session });
    for (const stream of [quick, slow]) expect((await stream.next()).value.$case).toBe("watching");
    const total = 80;
    const seen: WatchEvent[] = [];
    let head = "";
    for (let index = 0; index < total; index++) {
      const next = quick.next();
      head = await turns(ledger, session, 1, head);
      seen.push((await next).value as WatchEvent);
    }
    await settled(ledger);
    expect(ledger.deps.watches.size).toEqual({ ...nothing, sessions: 1, watchers: 2 });
    const late: WatchEvent[] = [];
    while (late.length < total) late.push((await slow.next()).value as WatchEvent);
    expect(late).toEqual(seen);
    expect(late.map((event) => event.$case === "headMoved" && event.value.sequence)).toEqual(
      Array.from({ length: total }, (_, index) => index + 1),
    );
    await Promise.all([quick.return(undefined), slow.return(undefined)]);
    expect(ledger.deps.watches.size).toEqual(nothing);
  });

  rule("ten thousand watchers are opened, woken a hundred at a time, closed, and leave nothing", async () => {
    const { ledger, watch } = await watchedLedger(await newDatabase());
    const session = await ledger.create();
    const { signal } = new AbortController();
    const first = await watch(session, signal);
    const found = await ledger.deps.sessions.find("default", session);
    const rest = Array.from({ length: limits.watchers - 1 }, () =>
      ledger.deps.watches.open(found!.row, undefined),
    );
    await settled(ledger);
    let turn = 0;
    let isCounting = true;
    const count = () => {
      turn += 1;
      if (isCounting) setImmediate(count);
    };
    setImmediate(count);
    const perTurn = new Map<number, number>();
    const woken = Promise.all(
      rest.map(async (one) => {
        await one.wait();
        perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
      }),
    );
    await turns(ledger, session, 1);
    await Promise.all([woken, first.woken(1)]);
    isCounting = false;
    expect(perTurn.size).toBeGreaterThanOrEqual(limits.watchers / 100);
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(100);
    // They go while they are in line.
    await turns(ledger, session, 1, (await ledger.deps.sessions.find("default", session))!.row.headTurnId!);
    for (const one of rest) one.close();
    first.close();
    await settled(ledger);
    expect(ledger.deps.watches.size).toEqual(nothing);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  rule("an aborted watch ends and is gone", async () => {
    const { ledger } = await watchedLedger(await newDatabase());
    const session = await ledger.create();
    const controller = new AbortController();
    const stream = watchSession(ledger.deps, "default", { session }, controller.signal);
    await stream.next();
    const next = stream.next();
    controller.abort();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(ledger.deps.watches.size).toEqual(nothing);
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });

  rule("a session and a server have no more watchers than they may; one that goes makes room", async () => {
    const { ledger } = await watchedLedger(await newDatabase());
    const options = { pollMs: 60_000, onFailure: () => {}, watchers: 2, serverWatchers: 3 };
    const watches = new SessionWatches(new HeadLog(ledger.database), options);
    const rows = await repeat(3, async () => {
      const id = await ledger.create();
      return (await ledger.deps.sessions.find("default", id))!.row;
    });
    const open = async (index: number) => watches.open(rows[index]!, undefined);
    const one = await open(0);
    await open(0);
    await expect(open(0)).rejects.toMatchObject({
      reason: "LIMIT_REACHED",
      metadata: { limit: "watchers", max: "2", session: rows[0]!.label },
    });
    await open(1);
    await expect(open(2)).rejects.toMatchObject({
      reason: "LIMIT_REACHED",
      metadata: { limit: "server_watchers", max: "3", session: rows[2]!.label },
    });
    one.close();
    one.close();
    expect(await refusal(open(2))).toBe("it was done");
    await watches.close();
  });
});

it.skipIf(postgres === undefined)(
  "watches on postgresql: a move that began before another and was committed after it is not missed",
  async () => {
    const url = await postgres!.createDatabase();
    const { ledger, poll, watch } = await watchedLedger(url);
    const other = await openLedger(url);
    const [early, late] = await repeat(2, () => ledger.create());
    const watches: CountedWatch[] = await Promise.all([watch(early!), watch(late!)]);
    await settled(ledger);
    await poll();
    let commit = () => {};
    const isCommitted = new Promise<void>((resolve) => {
      commit = resolve;
    });
    let begun = () => {};
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const move = other.database.sqlTransaction(async (sql) => {
      await sql.execute("UPDATE sessions SET head_sequence = 1 WHERE id = ?", [early!]);
      begun();
      await isCommitted;
    });
    await hasBegun;
    await turns(other, late!, 1);
    await poll();
    await watches[1]!.woken(1);
    expect(watches[0]!.wakes).toBe(0);
    commit();
    await move;
    await poll();
    await watches[0]!.woken(1);
    expect(watches[0]!.sequence).toBe(1);
  },
);
