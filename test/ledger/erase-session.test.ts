import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { OnHeadMoved, StreamHistoryRequest } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { type Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { type Database, openDatabase } from "../../src/storage/driver/database-sync.js";
import { toolCalls, user } from "../support/messages.js";
import { failure, startTestServer, type TestServer } from "../support/server.js";
import { type LedgerCalls, ledgerCalls, pausedHistory, readHistory } from "./ledger-calls.js";
import { said } from "./message-parts.js";

let server: TestServer;
let ledger: LedgerCalls;
let database: Database;

beforeAll(async () => {
  server = await startTestServer();
  ledger = ledgerCalls(server.ledger);
  database = openDatabase(join(server.folder, "quire.db"));
});

afterAll(async () => {
  database.close();
  await server.stop();
});

const branch = { onHeadMoved: OnHeadMoved.BRANCH };

async function texts(session: string, calls = ledger): Promise<string> {
  const { messages } = await calls.history({ thread: { $case: "session", value: session } });
  return messages
    .map((message) => (message.parts[0]!.content as { value: { text: string } }).value.text)
    .join(" ");
}

async function thread(session: string, names: string, parentTurnId = ""): Promise<string[]> {
  const made: string[] = [];
  for (const name of names.split(" "))
    made.push((await ledger.turn(session, made.at(-1) ?? parentTurnId, [user(name)])).id);
  return made;
}

/** A message that costs no counting. */
function megabyte(): Message {
  const source = { $case: "data" as const, value: Buffer.alloc(1024 * 1024, 7) };
  return said(MessageRole.USER, { content: { $case: "image", value: { source, mediaType: "image/png" } } });
}

async function fork(turnId: string, label: string): Promise<string> {
  return (await ledger.forkSession({ at: { $case: "turnId", value: turnId }, label })).session!.label;
}

/** A session of a sub-agent, with a turn. */
async function spawn(parentSessionId: string, label: string): Promise<string> {
  await ledger.session({ label, subAgent: { parentSessionId, task: "Look." } });
  return (await thread(label, "looked"))[0]!;
}

async function exists(turnId: string): Promise<boolean> {
  try {
    await ledger.getTurn({ turnId });
    return true;
  } catch {
    return false;
  }
}

const erase = async (session: string, calls = ledger) => {
  const { erasedTurns, keptTurns } = await calls.deleteSession({ session });
  return { erasedTurns, keptTurns };
};

function storedTurns(): Set<string> {
  return new Set(
    database
      .prepare("SELECT id FROM turns")
      .all()
      .map((row) => (row as { id: string }).id),
  );
}

/** How many rows of each table there are. */
function rows(): Record<string, number> {
  const tables = [
    "sessions",
    "session_aliases",
    "turns",
    "messages",
    "branches",
    "head_moves",
    "stored_answers",
  ];
  const count = (table: string) =>
    (database.prepare(`SELECT count(*) AS n FROM ${table}`).all()[0] as { n: number }).n;
  return Object.fromEntries(tables.map((table) => [table, count(table)]));
}

describe("DeleteSession", () => {
  test("takes its sub-agents and theirs along with cascade, and leaves them without", async () => {
    await ledger.session({ label: "manager" });
    const [own] = await thread("manager", "asked");
    const turns = [
      await spawn("manager", "one"),
      await spawn("one", "one of one"),
      await spawn("manager", "two"),
    ];
    const forked = await fork(turns[1]!, "a fork of one");
    const ids = await Promise.all(
      ["one", "two", "one of one"].map(async (session) => (await ledger.getSession({ session })).session!.id),
    );
    await ledger.session({ label: "boss" });
    await spawn("boss", "left alone");
    expect(await ledger.deleteSession({ session: "boss" })).toMatchObject({ erasedSubAgentIds: [] });
    expect((await ledger.getSession({ session: "left alone" })).session!.depth).toBe(1);
    const watching = ledger.watch({ session: "one" });
    await watching.next();
    const deleted = await ledger.deleteSession({ session: "manager", cascade: true, requestId: "all" });
    expect(deleted).toMatchObject({ erasedTurns: 3, keptTurns: 0 });
    expect(deleted.erasedSubAgentIds.toSorted()).toEqual(ids.toSorted());
    expect(await ledger.deleteSession({ session: "manager", cascade: true, requestId: "all" })).toEqual(
      deleted,
    );
    expect(await watching.rest()).toMatchObject([{ $case: "deleted", value: { sessionId: ids[0] } }]);
    expect(await Promise.all([own!, ...turns].map(exists))).toEqual([false, false, true, false]);
    expect((await ledger.getSession({ session: forked })).session!.headTurnId).toBe(turns[1]);
    for (const session of ["manager", "one", "two", "one of one"])
      expect(await failure(ledger.getSession({ session }))).toMatchObject({ reason: "SESSION_NOT_FOUND" });
  });

  test("erases a session that shares nothing, with all that is of it", async () => {
    const before = rows();
    await ledger.session({ label: "alone", requestId: "make it" });
    const [first, second] = await thread("alone", "a b");
    await ledger.turn("alone", first!, [user("branch")], branch);
    await ledger.turn("alone", second!, [user("failed"), toolCalls("c")], { status: TurnStatus.FAILED });
    const open = (
      await ledger.beginTurn({ session: "alone", parentTurnId: second!, messages: [user("open")] })
    ).turn!;
    await ledger.appendMessages({ turnId: open.id, messages: [user("more")], requestId: "append it" });
    await ledger.aliasSession({ alias: "alone, too", session: "alone" });
    expect(await erase("alone, too")).toEqual({ erasedTurns: 5, keptTurns: 0 });
    expect(rows()).toEqual(before);
    for (const name of ["alone", "alone, too"]) {
      expect(await failure(ledger.getSession({ session: name }))).toMatchObject({
        reason: "SESSION_NOT_FOUND",
      });
    }
    expect(await failure(ledger.getTurn({ turnId: open.id }))).toMatchObject({ reason: "TURN_NOT_FOUND" });
    // The name and the request id are free again.
    expect((await ledger.session({ label: "alone", requestId: "make it" })).depth).toBe(0);
    await erase("alone");
  });

  test("says again what it erased, to the same request", async () => {
    await ledger.session({ label: "twice" });
    await thread("twice", "a b");
    const request = { session: "twice", requestId: "erase it" };
    const answer = await ledger.deleteSession(request);
    expect(answer).toMatchObject({ erasedTurns: 2, keptTurns: 0 });
    expect(await ledger.deleteSession(request)).toEqual(answer);
    expect(await failure(ledger.deleteSession({ session: "twice" }))).toMatchObject({
      reason: "SESSION_NOT_FOUND",
    });
  });

  test("keeps what a fork at the head reaches, until the fork goes, too", async () => {
    await ledger.session({ label: "origin" });
    const [, , third] = await thread("origin", "a b c");
    await fork(third!, "heir");
    expect(await erase("origin")).toEqual({ erasedTurns: 0, keptTurns: 3 });
    expect(await texts("heir")).toBe("a b c");
    expect(await erase("heir")).toEqual({ erasedTurns: 3, keptTurns: 0 });
  });

  test("erases what comes after the last fork, and no more", async () => {
    await ledger.session({ label: "long" });
    const [first, second, third, fourth] = await thread("long", "a b c d");
    await fork(first!, "early");
    await fork(second!, "later");
    await thread("later", "x", second);
    expect(await erase("long")).toEqual({ erasedTurns: 2, keptTurns: 2 });
    expect([await exists(third!), await exists(fourth!)]).toEqual([false, false]);
    expect([await texts("early"), await texts("later")]).toEqual(["a", "a b x"]);
    expect(await erase("later")).toEqual({ erasedTurns: 2, keptTurns: 1 });
    expect(await erase("early")).toEqual({ erasedTurns: 1, keptTurns: 0 });
  });

  test("erases a fork without touching what it was forked from", async () => {
    await ledger.session({ label: "trunk" });
    const [, second] = await thread("trunk", "a b c");
    await fork(second!, "twig");
    const [x] = await thread("twig", "x y", second);
    await fork(x!, "leaf");
    await thread("leaf", "z", x);
    expect(await erase("twig")).toEqual({ erasedTurns: 1, keptTurns: 3 });
    expect([await texts("trunk"), await texts("leaf")]).toEqual(["a b c", "a b x z"]);
    expect(await erase("trunk")).toEqual({ erasedTurns: 1, keptTurns: 2 });
    expect(await texts("leaf")).toBe("a b x z");
    expect(await erase("leaf")).toEqual({ erasedTurns: 4, keptTurns: 0 });
  });

  test("keeps what other sessions wrote, though their head is elsewhere by now", async () => {
    await ledger.session({ label: "base" });
    const [first, second] = await thread("base", "a b");
    await fork(second!, "wanderer");
    const [x] = await thread("wanderer", "x", second);
    await ledger.updateSession({ session: "wanderer", headTurnId: first!, expectedHeadTurnId: x! });
    expect(await erase("base")).toEqual({ erasedTurns: 0, keptTurns: 2 });
    expect(await exists(x!)).toBe(true);
    expect(await texts("wanderer")).toBe("a");
    expect(await erase("wanderer")).toEqual({ erasedTurns: 3, keptTurns: 0 });
  });

  test("erases what its head was moved away from", async () => {
    await ledger.session({ label: "mover" });
    const [first, second, third] = await thread("mover", "a b c");
    await ledger.updateSession({ session: "mover", headTurnId: first!, expectedHeadTurnId: third! });
    await thread("mover", "d", first);
    expect(await erase("mover")).toEqual({ erasedTurns: 4, keptTurns: 0 });
    expect([await exists(second!), await exists(third!)]).toEqual([false, false]);
  });

  test("keeps what an open turn of another session stands on", async () => {
    await ledger.session({ label: "ground" });
    const [first, second] = await thread("ground", "a b");
    await fork(first!, "builder");
    const begin = { session: "builder", parentTurnId: second!, messages: [user("x")], ...branch };
    const { turn: open } = await ledger.beginTurn(begin);
    expect(await erase("ground")).toEqual({ erasedTurns: 0, keptTurns: 2 });
    const { turn } = await ledger.completeTurn({ turnId: open!.id, ...branch });
    expect(turn!.depth).toBe(3);
    expect(await erase("builder")).toEqual({ erasedTurns: 3, keptTurns: 0 });
  });

  test("never makes a first turn of one whose parent is lost: it can only be failed", async () => {
    await ledger.session({ label: "damaged" });
    const [first] = await thread("damaged", "a");
    const { turn } = await ledger.beginTurn({
      session: "damaged",
      parentTurnId: first!,
      messages: [user("x")],
    });
    database.prepare("DELETE FROM turns WHERE id = ?").run(first!);
    const error = await failure(ledger.completeTurn({ turnId: turn!.id }));
    expect(error).toMatchObject({ reason: "UNKNOWN_PARENT", fields: ["turn_id"] });
    const failed = await ledger.completeTurn({ turnId: turn!.id, status: TurnStatus.FAILED });
    expect(failed.turn!.status).toBe(TurnStatus.FAILED);
    await erase("damaged");
  });

  test("ends calls to turns that are gone with NOT_FOUND", async () => {
    await ledger.session({ label: "gone" });
    const [first] = await thread("gone", "a");
    const { turn } = await ledger.beginTurn({ session: "gone", parentTurnId: first! });
    await erase("gone");
    const at = { $case: "turnId" as const, value: first! };
    expect(await failure(ledger.history({ thread: at }))).toMatchObject({ reason: "TURN_NOT_FOUND" });
    expect(await failure(ledger.forkSession({ at }))).toMatchObject({ reason: "TURN_NOT_FOUND" });
    expect(await failure(ledger.completeTurn({ turnId: turn!.id }))).toMatchObject({
      reason: "TURN_NOT_FOUND",
    });
    expect(await failure(ledger.appendMessages({ turnId: turn!.id, messages: [user("x")] }))).toMatchObject({
      reason: "TURN_NOT_FOUND",
    });
  });
});

describe("a place that an erasure freed", () => {
  test("shows the turn that took it, and never the old one, from any server's cache", async () => {
    const other = await startTestServer({ database: server.config.database });
    onTestFinished(() => other.stop());
    const elsewhere = ledgerCalls(other.ledger);
    await ledger.session({ label: "taken" });
    const [first, second] = await thread("taken", "a b");
    await fork(second!, "warm");
    const [old] = await thread("warm", "old", second);
    for (const calls of [ledger, elsewhere]) expect(await texts("warm", calls)).toBe("a b old");
    await fork(first!, "keeper");
    await ledger.updateSession({ session: "keeper", headTurnId: second!, expectedHeadTurnId: first! });
    await erase("warm", elsewhere);
    await erase("taken");
    const fresh = await ledger.turn("keeper", second!, [user("new")]);
    expect(fresh.depth).toBe(3);
    for (const calls of [ledger, elsewhere]) {
      expect(await texts("keeper", calls)).toBe("a b new");
      const byTurn = await calls.history({ thread: { $case: "turnId", value: fresh.id } });
      expect(byTurn.messages.map((message) => message.turnId)).toEqual([first, second, fresh.id]);
    }
    const slots = database
      .prepare("SELECT id FROM turns WHERE branch_id = (SELECT branch_id FROM turns WHERE id = ?)")
      .all(second!);
    expect((slots as { id: string }[]).map(({ id }) => id)).toContain(fresh.id);
    expect(await exists(old!)).toBe(false);
  });

  test("is not streamed in place of what was there when the call began", async () => {
    await ledger.session({ label: "stays" });
    const [root] = await thread("stays", "root");
    await fork(root!, "goes");
    let head = root!;
    // More than fits into what is on its way to a client that does not read.
    for (let index = 0; index < 30; index++) head = (await ledger.turn("goes", head, [megabyte()])).id;
    const request = StreamHistoryRequest.create({ thread: { $case: "session", value: "goes" } });
    const stream = await pausedHistory(server.ledger.streamHistory(request));
    await erase("goes");
    await thread("stays", "instead", root);
    expect(await failure(readHistory(stream))).toMatchObject({
      reason: "TURN_NOT_FOUND",
      metadata: { turn_id: head },
    });
    expect(await texts("stays")).toBe("root instead");
  });
});

describe("erasures at random", () => {
  interface Known {
    readonly parent: string;
    readonly writer: string;
    readonly name: string;
    readonly placed: boolean;
  }

  test("take all that only the erased session reached, and nothing that another reaches", async () => {
    const turns = new Map<string, Known>();
    const heads = new Map<string, string>();
    let state = 20261116;
    const random = (below: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const pick = <T>(items: readonly T[]): T => items[random(items.length)]!;
    const placed = () => [...turns].filter(([, turn]) => turn.placed).map(([id]) => id);
    const path = (turnId: string): string[] =>
      turnId === "" ? [] : [...path(turns.get(turnId)!.parent), turnId];
    const reachedBy = (session: string) =>
      new Set([
        ...path(heads.get(session)!),
        ...[...turns].flatMap(([id, turn]) => (turn.writer === session ? path(id) : [])),
      ]);
    const write = async (session: string, parent: string, status: TurnStatus = TurnStatus.COMPLETED) => {
      const name = `t${turns.size}`;
      const { turn, headTurnId } = await ledger.recordTurn({
        session,
        parentTurnId: parent,
        messages: [user(name)],
        status,
        ...branch,
      });
      turns.set(turn!.id, { parent, writer: session, name, placed: status !== TurnStatus.FAILED });
      heads.set(session, headTurnId);
    };

    for (let step = 0; step < 180; step++) {
      const sessions = [...heads.keys()];
      const session = sessions.length > 0 ? pick(sessions) : "";
      const dice = sessions.length === 0 ? 0 : random(100);
      if (dice < 6) heads.set((await ledger.session()).id, "");
      else if (dice < 50) await write(session, heads.get(session)!);
      else if (dice < 60) await write(session, placed().length > 0 ? pick(placed()) : "");
      else if (dice < 65) await write(session, heads.get(session)!, TurnStatus.FAILED);
      else if (dice < 80 && placed().length > 0) {
        const value = pick(placed());
        heads.set((await ledger.forkSession({ at: { $case: "turnId", value } })).session!.id, value);
      } else if (dice < 88 && placed().length > 0) {
        const headTurnId = pick(placed());
        await ledger.updateSession({ session, headTurnId, expectedHeadTurnId: heads.get(session)! });
        heads.set(session, headTurnId);
      } else {
        const mine = reachedBy(session);
        const thread_ = path(heads.get(session)!);
        heads.delete(session);
        const kept = new Set([...heads.keys()].flatMap((other) => [...reachedBy(other)]));
        const { keptTurns, erasedTurns } = await erase(session);
        expect(keptTurns).toBe(thread_.filter((id) => kept.has(id)).length);
        let gone = 0;
        const stored = storedTurns();
        for (const id of turns.keys()) {
          if (kept.has(id)) expect(stored).toContain(id);
          else if (mine.has(id)) expect(stored).not.toContain(id);
          if (stored.has(id)) continue;
          turns.delete(id);
          gone++;
        }
        expect(erasedTurns).toBe(gone);
      }
      if (step % 20 !== 19) continue;
      for (const [name, head] of heads)
        expect(await texts(name)).toBe(
          path(head)
            .map((id) => turns.get(id)!.name)
            .join(" "),
        );
    }
    for (const name of heads.keys()) await erase(name);
    expect([...turns.keys()].filter((id) => storedTurns().has(id))).toEqual([]);
  });
});
