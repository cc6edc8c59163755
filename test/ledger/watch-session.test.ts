import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { HeadMoveCause } from "../../src/contract/gen/quire/v1/session.js";
import { openDatabase } from "../../src/storage/driver/database-sync.js";
import { user } from "../support/messages.js";
import { startPostgres } from "../support/postgres.js";
import { failure, startTestServer, type TestServer } from "../support/server.js";
import { type LedgerCalls, ledgerCalls, type WatchEvent, type Watcher } from "./ledger-calls.js";

const postgres = await startPostgres();
let server: TestServer;
let ledger: LedgerCalls;

beforeAll(async () => {
  // So long that what arrives in time was signalled, and not found by a look.
  server = await startTestServer({ watchPollMs: 60_000 });
  ledger = ledgerCalls(server.ledger);
});

afterAll(async () => {
  await server.stop();
  await postgres?.stop();
});

function watch(calls: LedgerCalls, session: string, afterSequence?: number): Watcher {
  const watcher = calls.watch({ session, ...(afterSequence === undefined ? {} : { afterSequence }) });
  onTestFinished(() => watcher.cancel());
  return watcher;
}

const move = (event: WatchEvent) => {
  if (event.$case !== "headMoved") throw new Error(`${event.$case} is no move`);
  return event.value;
};

test("watch: the session as it is now comes first, then each move as it happens", async () => {
  const { id } = await ledger.session({ label: "watched" });
  await ledger.aliasSession({ alias: "seen", session: "watched" });
  const first = await ledger.turn(id, "", [user("before")]);
  const watcher = watch(ledger, "seen");
  expect(await watcher.next()).toMatchObject({
    $case: "watching",
    value: { id, headTurnId: first.id, headSequence: 1 },
  });

  const second = await ledger.turn(id, first.id, [user("recorded")]);
  expect(move(await watcher.next())).toMatchObject({
    sequence: 2,
    fromTurnId: first.id,
    toTurnId: second.id,
    cause: HeadMoveCause.RECORDED,
  });
  const { turn } = await ledger.beginTurn({ session: id, parentTurnId: second.id, messages: [user("x")] });
  await ledger.completeTurn({ turnId: turn!.id });
  expect(move(await watcher.next())).toMatchObject({
    sequence: 3,
    toTurnId: turn!.id,
    cause: HeadMoveCause.COMPLETED,
  });
  await ledger.updateSession({ session: id, headTurnId: first.id, expectedHeadTurnId: turn!.id });
  expect(move(await watcher.next())).toMatchObject({
    sequence: 4,
    toTurnId: first.id,
    cause: HeadMoveCause.MOVED,
  });
  expect(watcher.unread).toBe(0);
});

test("watch: what moves no head sends nothing", async () => {
  const { id } = await ledger.session();
  const watcher = watch(ledger, id);
  await watcher.next();
  await ledger.updateSession({ session: id, workspacePath: "/w" });
  await ledger.turn(id, "", [user("x")], { status: "TURN_STATUS_FAILED" });
  await ledger.beginTurn({ session: id });
  await ledger.turn(id, "", [user("the first move")]);
  expect(move(await watcher.next()).sequence).toBe(1);
});

test("watch: a fork's log begins with the fork", async () => {
  const { id } = await ledger.session();
  const turn = await ledger.turn(id, "", [user("x")]);
  const fork = (await ledger.forkSession({ session: id })).session!;
  const [, first] = await watch(ledger, fork.id, 0).take(2);
  expect(move(first!)).toMatchObject({
    sequence: 1,
    fromTurnId: "",
    toTurnId: turn.id,
    cause: HeadMoveCause.FORKED,
  });
});

test("watch: a client that comes back with the last sequence it saw gets all that followed", async () => {
  const { id } = await ledger.session();
  let head = "";
  const turnIds: string[] = [];
  for (let index = 0; index < 6; index++) {
    head = (await ledger.turn(id, head, [user(`${index}`)])).id;
    turnIds.push(head);
  }
  for (const after of [0, 2, 5]) {
    const [, ...events] = await watch(ledger, id, after).take(1 + turnIds.length - after);
    expect(events.map((event) => move(event).toTurnId)).toEqual(turnIds.slice(after));
    expect(events.map((event) => move(event).sequence)).toEqual(
      turnIds.map((_, index) => index + 1).slice(after),
    );
  }
  const watcher = watch(ledger, id, 4_294_967_295);
  expect((await watcher.next()).$case).toBe("watching");
});

test("watch: more moves than one read of the log gives, all of them, in order", async () => {
  const { id } = await ledger.session();
  await ledger.turn(id, "", [user("x")]);
  const total = 1_100;
  const database = openDatabase(join(server.folder, "quire.db"));
  database
    .prepare(
      `INSERT INTO head_moves SELECT tenant_id, session_id, value, to_turn_id, to_turn_id, cause, created_us
       FROM head_moves, json_each(?) WHERE session_id = ?`,
    )
    .run(JSON.stringify(Array.from({ length: total - 1 }, (_, index) => index + 2)), id);
  database.close();
  const [, ...events] = await watch(ledger, id, 0).take(1 + total);
  expect(events.map((event) => move(event).sequence)).toEqual(
    Array.from({ length: total }, (_, index) => index + 1),
  );
});

test("watch: no move is lost or doubled while many write, for watchers that come and go", async () => {
  const { id } = await ledger.session();
  const total = 80;
  let head = "";
  const writing = (async () => {
    for (let index = 0; index < total; index++) head = (await ledger.turn(id, head, [user(`${index}`)])).id;
  })();
  const follow = async (step: number): Promise<number[]> => {
    const seen: number[] = [];
    while (seen.length < total) {
      const watcher = ledger.watch({ session: id, afterSequence: seen.at(-1) ?? 0 });
      expect((await watcher.next()).$case).toBe("watching");
      for (let index = 0; index < step && seen.length < total; index++)
        seen.push(move(await watcher.next()).sequence);
      watcher.cancel();
    }
    return seen;
  };
  const followed = await Promise.all([follow(total), follow(7), follow(1)]);
  await writing;
  const expected = Array.from({ length: total }, (_, index) => index + 1);
  for (const seen of followed) expect(seen).toEqual(expected);
});

test("watch: the stream ends after the session is deleted, and says so last", async () => {
  const { id } = await ledger.session();
  const idle = watch(ledger, id);
  const busy = watch(ledger, id);
  await Promise.all([idle.next(), busy.next()]);
  await ledger.turn(id, "", [user("x")]);
  expect(move(await busy.next()).sequence).toBe(1);
  await ledger.deleteSession({ session: id });
  for (const watcher of [busy, idle]) {
    expect((await watcher.rest()).at(-1)).toEqual({ $case: "deleted", value: { sessionId: id } });
  }
  expect(await failure(ledger.watch({ session: id }).next())).toMatchObject({ reason: "SESSION_NOT_FOUND" });
});

async function findElsewhere(ledger: LedgerCalls, database: string): Promise<void> {
  const other = await startTestServer({ database, watchPollMs: 20 });
  onTestFinished(() => other.stop());
  const elsewhere = ledgerCalls(other.ledger);
  const { id } = await ledger.session();
  const watcher = watch(elsewhere, id);
  await watcher.next();
  let head = "";
  for (let index = 1; index <= 5; index++) {
    head = (await ledger.turn(id, head, [user(`${index}`)])).id;
    expect(move(await watcher.next())).toMatchObject({ sequence: index, toTurnId: head });
  }
  await ledger.deleteSession({ session: id });
  expect((await watcher.rest()).map((event) => event.$case)).toEqual(["deleted"]);
}

test("watch: what another server on the same database writes is found by looking", () =>
  findElsewhere(ledger, server.config.database));

test.skipIf(postgres === undefined)(
  "watch: what another server on the same PostgreSQL writes is found by looking",
  async () => {
    const { url } = postgres!;
    const one = await startTestServer({ database: url, watchPollMs: 60_000 });
    onTestFinished(() => one.stop());
    await findElsewhere(ledgerCalls(one.ledger), url);
  },
);
