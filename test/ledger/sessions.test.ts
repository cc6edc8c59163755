import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HeadMoveCause, type Session, TaskStatus } from "../../src/contract/gen/quire/v1/session.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { failure, startTestServer, type TestServer } from "../support/server.js";
import { type LedgerCalls, ledgerCalls } from "./ledger-calls.js";

let server: TestServer;
let ledger: LedgerCalls;

beforeAll(async () => {
  server = await startTestServer();
  ledger = ledgerCalls(server.ledger);
});

afterAll(() => server.stop());

const get = async (session: string) => (await ledger.getSession({ session })).session!;

describe("a session", () => {
  test("has its id for a name unless it is given one", async () => {
    const session = await ledger.session({ workspacePath: "/w", metadata: { a: "1" } });
    expect(session).toMatchObject({
      label: session.id,
      headTurnId: "",
      depth: 0,
      headSequence: 0,
      aliases: [],
    });
    expect(session.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(await get(session.id)).toEqual(session);
  });

  test("cannot have a name that looks like an id, or that is taken as label or alias", async () => {
    const { id } = await ledger.session({ label: "mine" });
    await ledger.aliasSession({ alias: "mine, too", session: "mine" });
    for (const label of ["mine", "mine, too"]) {
      expect(await failure(ledger.session({ label }))).toMatchObject({
        reason: "LABEL_TAKEN",
        metadata: { label },
      });
    }
    for (const label of [id, id.toUpperCase()]) {
      expect(await failure(ledger.session({ label }))).toMatchObject({
        reason: "INVALID_FIELD",
        fields: ["label"],
      });
    }
  });

  test("is found instead of made with get_if_exists, by its label or an alias, and stays as it is", async () => {
    const request = { label: "found", metadata: { a: "1" }, getIfExists: true };
    const made = await ledger.createSession(request);
    expect(made.existed).toBe(false);
    await ledger.aliasSession({ alias: "found, too", session: "found" });
    const turn = await ledger.turn("found", "", [user("Hi.")]);
    for (const label of ["found", "found, too"]) {
      const again = await ledger.createSession({
        ...request,
        label,
        metadata: { b: "2" },
        workspacePath: "/w",
      });
      expect(again).toEqual({ session: await get("found"), existed: true });
    }
    expect(await get("found")).toMatchObject({
      headTurnId: turn.id,
      metadata: { a: "1" },
      workspacePath: "",
    });
    const nameless = ledger.createSession({ getIfExists: true });
    expect(await failure(nameless)).toMatchObject({ reason: "INVALID_FIELD", fields: ["label"] });
  });

  test("is made once by many who ask for it at the same moment", async () => {
    const many = Array.from({ length: 8 }, () => ledger.createSession({ label: "once", getIfExists: true }));
    const answers = await Promise.all(many);
    expect(new Set(answers.map(({ session }) => session!.id)).size).toBe(1);
    expect(answers.filter(({ existed }) => !existed)).toHaveLength(1);
  });

  test("forks before a turn, also the first, to say it in another way", async () => {
    await ledger.session({ label: "said", defaults: { capsule: "atlas" }, workspacePath: "/w" });
    const first = await ledger.turn("said", "", [user("Paris?"), assistant("Yes.")]);
    const second = await ledger.turn("said", first.id, [user("In may?"), assistant("Yes.")]);
    const forkBefore = (beforeTurnId: string, more = {}) =>
      ledger.forkSession({ at: { $case: "beforeTurnId", value: beforeTurnId }, ...more });
    const { session: edited } = await forkBefore(second.id);
    expect(edited).toMatchObject({ headTurnId: first.id, depth: 1, forkedFromTurnId: first.id });
    expect(edited!.defaults).toMatchObject({ capsule: "atlas" });
    const { session: anew } = await forkBefore(first.id, { session: "said" });
    expect(anew).toMatchObject({ headTurnId: "", depth: 0, forkedFromTurnId: "", workspacePath: "/w" });
    expect((await ledger.turn(anew!.id, "", [user("Rome?"), assistant("No.")])).depth).toBe(1);
    const open = (await ledger.beginTurn({ session: "said", parentTurnId: second.id })).turn!;
    expect((await forkBefore(open.id)).session!.headTurnId).toBe(second.id);
    expect(await failure(forkBefore("nothing"))).toMatchObject({ reason: "TURN_NOT_FOUND" });
    expect(await failure(ledger.forkSession({}))).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["session"],
    });
    expect((await get("said")).headTurnId).toBe(second.id);
  });

  test("that is forked lends the fork its own settings, whoever wrote the turn", async () => {
    await ledger.session({ label: "writer", defaults: { capsule: "writer" } });
    const turn = await ledger.turn("writer", "", [user("Hi."), assistant("Hello.")]);
    await ledger.forkSession({ session: "writer", label: "reader" });
    await ledger.updateSession({ session: "reader", defaults: { capsule: "reader" } });
    const at = { $case: "turnId" as const, value: turn.id };
    expect((await ledger.forkSession({ session: "reader", at })).session!.defaults!.capsule).toBe("reader");
    expect((await ledger.forkSession({ at })).session!.defaults!.capsule).toBe("writer");
    await ledger.deleteSession({ session: "writer" });
    expect((await ledger.forkSession({ at })).session!.defaults).toBeUndefined();
  });

  test("is listed by its metadata as they are now", async () => {
    const listed = async (key: string, value?: { $case: "equals" | "prefix"; value: string }) =>
      (await ledger.listSessions({ metadata: [{ key, value }], labelPrefix: "tagged" })).sessions.map(
        ({ label }) => label,
      );
    await ledger.session({ label: "tagged 1", metadata: { team: "search", vip: "" } });
    await ledger.session({ label: "tagged 2", metadata: { team: "sales" } });
    const equals = (value: string) => ({ $case: "equals" as const, value });
    expect(await listed("team", equals("search"))).toEqual(["tagged 1"]);
    expect(await listed("team", { $case: "prefix", value: "s" })).toEqual(["tagged 2", "tagged 1"]);
    expect(await listed("vip")).toEqual(["tagged 1"]);
    const change = { setMetadata: { team: "search" }, removeMetadata: ["none"] };
    await ledger.updateSession({ session: "tagged 2", ...change });
    await ledger.updateSession({ session: "tagged 1", removeMetadata: ["vip"] });
    expect(await listed("team", equals("search"))).toEqual(["tagged 2", "tagged 1"]);
    expect(await listed("team", equals("sales"))).toEqual([]);
    expect(await listed("vip")).toEqual([]);
    await ledger.forkSession({ session: "tagged 1", label: "tagged 3", metadata: { team: "search" } });
    await ledger.deleteSession({ session: "tagged 2" });
    expect(await listed("team", equals("search"))).toEqual(["tagged 3", "tagged 1"]);
    const nine = Array.from({ length: 9 }, () => ({ key: "team" }));
    expect(await failure(ledger.listSessions({ metadata: nine }))).toMatchObject({ fields: ["metadata"] });
  });

  test("has names of any script, of up to 256 characters as people count them", async () => {
    for (const label of [
      "Ünïcødé 東京 🌧",
      " leading and trailing ",
      "a/b?c=d%20",
      "👩‍👩‍👧".repeat(50),
      "🌧".repeat(256),
    ]) {
      expect((await ledger.session({ label })).label).toBe(label);
      expect((await get(label)).label).toBe(label);
    }
    expect(await failure(ledger.session({ label: "🌧".repeat(257) }))).toMatchObject({ fields: ["label"] });
  });

  test("forks without turns into another without turns, and takes over the workspace unless it gets one", async () => {
    await ledger.session({ label: "empty", workspacePath: "/w", metadata: { a: "1" } });
    const { session } = await ledger.forkSession({ session: "empty" });
    expect(session).toMatchObject({ headTurnId: "", headSequence: 0, workspacePath: "/w", metadata: {} });
    expect((await ledger.forkSession({ session: "empty", workspacePath: "/x" })).session!.workspacePath).toBe(
      "/x",
    );
  });
});

describe("UpdateSession", () => {
  test("changes what it names and leaves the rest", async () => {
    const made = await ledger.session({ label: "old", workspacePath: "/w", metadata: { a: "1", b: "2" } });
    const { session } = await ledger.updateSession({ session: "old", label: "new" });
    expect(session).toEqual({ ...made, label: "new", updateTime: session!.updateTime });
    expect(await failure(get("old"))).toMatchObject({ reason: "SESSION_NOT_FOUND" });
    await ledger.updateSession({
      session: "new",
      workspacePath: "",
      setMetadata: { b: "3", c: "4" },
      removeMetadata: ["a", "z"],
    });
    expect(await get("new")).toMatchObject({ id: made.id, workspacePath: "", metadata: { b: "3", c: "4" } });
  });

  test("keeps a session within 64 tags", async () => {
    const tags = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${from + index}`, "v"]));
    const { id } = await ledger.session({ metadata: tags(0, 64) });
    expect(await failure(ledger.updateSession({ session: id, setMetadata: tags(64, 1) }))).toMatchObject({
      fields: ["set_metadata"],
    });
    const swapped = await ledger.updateSession({
      session: id,
      setMetadata: tags(64, 1),
      removeMetadata: ["k0"],
    });
    expect(Object.keys(swapped.session!.metadata)).toHaveLength(64);
  });

  test("takes an alias of its own for its label, but no other session's name", async () => {
    await ledger.session({ label: "one" });
    await ledger.session({ label: "two" });
    await ledger.aliasSession({ alias: "uno", session: "one" });
    for (const label of ["one", "uno"]) {
      expect(await failure(ledger.updateSession({ session: "two", label }))).toMatchObject({
        reason: "LABEL_TAKEN",
      });
    }
    expect((await ledger.updateSession({ session: "one", label: "uno" })).session!.label).toBe("uno");
    expect((await ledger.updateSession({ session: "uno", label: "uno" })).session!.label).toBe("uno");
  });

  test("moves the head to any finished turn if it is where the caller thinks, and logs it", async () => {
    const { id } = await ledger.session();
    const first = await ledger.turn(id, "", [user("1")]);
    const second = await ledger.turn(id, first.id, [user("2")]);
    const open = (await ledger.beginTurn({ session: id, parentTurnId: second.id })).turn!;
    const move = (headTurnId: string, expectedHeadTurnId: string) =>
      ledger.updateSession({ session: id, headTurnId, expectedHeadTurnId });
    expect(await failure(move(first.id, first.id))).toMatchObject({
      reason: "HEAD_MOVED",
      metadata: { head_turn_id: second.id },
      fields: ["expected_head_turn_id"],
    });
    expect(await failure(move(open.id, second.id))).toMatchObject({ reason: "TURN_NOT_FINISHED" });
    expect(await failure(move("0198c0de-0000-7000-8000-000000000001", second.id))).toMatchObject({
      reason: "TURN_NOT_FOUND",
    });
    expect(await failure(ledger.updateSession({ session: id, headTurnId: first.id }))).toMatchObject({
      fields: ["expected_head_turn_id"],
    });
    const { session } = await move(first.id, second.id);
    expect(session).toMatchObject({ headTurnId: first.id, depth: 1, headSequence: 3 });
    const other = await ledger.turn(id, first.id, [user("another 2")]);
    expect(other.depth).toBe(2);

    const watcher = ledger.watch({ session: id, afterSequence: 0 });
    const moves = (await watcher.take(5)).slice(1);
    watcher.cancel();
    expect(moves.map((event) => event.$case === "headMoved" && event.value.cause)).toEqual([
      HeadMoveCause.RECORDED,
      HeadMoveCause.RECORDED,
      HeadMoveCause.MOVED,
      HeadMoveCause.RECORDED,
    ]);
  });

  test("moves the head of one session to a turn of another's thread", async () => {
    const one = await ledger.session();
    const two = await ledger.session();
    const turn = await ledger.turn(one.id, "", [user("shared")]);
    await ledger.updateSession({ session: two.id, headTurnId: turn.id, expectedHeadTurnId: "" });
    const mine = await ledger.turn(two.id, turn.id, [user("mine")]);
    const yours = await ledger.turn(one.id, turn.id, [user("yours")]);
    expect([mine.depth, yours.depth]).toEqual([2, 2]);
  });

  test("is one transaction: nothing of it happens when a part is refused", async () => {
    const { id } = await ledger.session({ label: "whole" });
    const before = await get(id);
    const changes = { label: "half", workspacePath: "/half", setMetadata: { half: "yes" } };
    const refused = ledger.updateSession({ session: id, ...changes, taskStatus: TaskStatus.RUNNING });
    expect(await failure(refused)).toMatchObject({ reason: "NO_TASK" });
    expect(await get(id)).toEqual(before);
  });
});

describe("sub-agents", () => {
  test("are linked to the session, turn and call that spawned them, by any name of the session", async () => {
    const manager = await ledger.session({ label: "manager" });
    await ledger.aliasSession({ alias: "boss", session: "manager" });
    const turn = await ledger.turn("manager", "", [
      user("x"),
      toolCalls("spawn_1"),
      toolResults("spawn_1"),
      assistant("y"),
    ]);
    const link = {
      parentSessionId: "boss",
      parentTurnId: turn.id,
      spawningCallId: "spawn_1",
      task: "look\nit up",
    };
    const worker = await ledger.session({ label: "worker", subAgent: link });
    expect(worker.subAgent).toEqual({ ...link, parentSessionId: manager.id, taskStatus: TaskStatus.PENDING });
    const { session } = await ledger.updateSession({ session: "worker", taskStatus: TaskStatus.COMPLETED });
    expect(session!.subAgent!.taskStatus).toBe(TaskStatus.COMPLETED);

    await ledger.session({
      label: "other worker",
      subAgent: { parentSessionId: manager.id, task: "wait", taskStatus: TaskStatus.RUNNING },
    });
    const list = async (request: Parameters<LedgerCalls["listSessions"]>[0]) =>
      (await ledger.listSessions(request)).sessions.map((entry) => entry.label);
    expect(await list({ parentSession: "boss" })).toEqual(["other worker", "worker"]);
    expect(await list({ parentSession: "manager", taskStatus: TaskStatus.RUNNING })).toEqual([
      "other worker",
    ]);
    expect(await list({ taskStatus: TaskStatus.COMPLETED })).toEqual(["worker"]);
  });

  test("need a parent session that is there, and a parent turn that is, if they name one", async () => {
    await ledger.session({ label: "real parent" });
    const spawn = (parentSessionId: string, parentTurnId: string) =>
      failure(ledger.session({ subAgent: { parentSessionId, parentTurnId } }));
    expect(await spawn("nobody", "")).toMatchObject({ reason: "SESSION_NOT_FOUND" });
    expect(await spawn("real parent", "0198c0de-0000-7000-8000-000000000001")).toMatchObject({
      reason: "TURN_NOT_FOUND",
    });
    expect(await spawn("", "")).toMatchObject({ fields: ["sub_agent.parent_session_id"] });
    expect(await failure(ledger.listSessions({ parentSession: "nobody" }))).toMatchObject({
      reason: "SESSION_NOT_FOUND",
    });
  });
});

describe("aliases", () => {
  test("resolve after labels and ids, for every call; then the session is not found", async () => {
    const { id } = await ledger.session({ label: "direct" });
    const turn = await ledger.turn("direct", "", [user("x")]);
    expect(await failure(get("by alias"))).toMatchObject({
      reason: "SESSION_NOT_FOUND",
      metadata: { session: "by alias" },
    });
    const aliased = await ledger.aliasSession({ alias: "by alias", session: "direct" });
    expect(aliased.session!.aliases).toEqual(["by alias"]);
    for (const name of ["direct", id, "by alias"]) {
      expect((await get(name)).id).toBe(id);
      expect((await ledger.listTurns({ session: name })).turns[0]!.id).toBe(turn.id);
      expect((await ledger.history({ thread: { $case: "session", value: name } })).thread.headTurnId).toBe(
        turn.id,
      );
      expect((await ledger.beginTurn({ session: name, parentTurnId: turn.id })).turn!.sessionId).toBe(id);
      expect((await ledger.forkSession({ session: name })).session!.headTurnId).toBe(turn.id);
      expect((await ledger.updateSession({ session: name })).session!.id).toBe(id);
    }
    expect((await ledger.deleteSession({ session: "by alias" })).sessionId).toBe(id);
    expect(await failure(get("by alias"))).toMatchObject({ reason: "SESSION_NOT_FOUND" });
  });

  test("move to another session only when replace is set, and can be taken away", async () => {
    await ledger.session({ label: "monday" });
    await ledger.session({ label: "tuesday" });
    const point = (session: string, replace = false) =>
      ledger.aliasSession({ alias: "today", session, replace });
    await point("monday");
    expect((await point("monday")).session!.aliases).toEqual(["today"]);
    expect(await failure(point("tuesday"))).toMatchObject({
      reason: "ALIAS_TAKEN",
      metadata: { alias: "today" },
    });
    expect((await point("tuesday", true)).session).toMatchObject({ label: "tuesday", aliases: ["today"] });
    expect((await get("monday")).aliases).toEqual([]);
    expect(await failure(point(""))).toMatchObject({ reason: "INVALID_FIELD", fields: ["session"] });
    expect((await get("tuesday")).aliases).toEqual(["today"]);
    const takeAway = () => ledger.unaliasSession({ alias: "today" });
    expect((await takeAway()).session).toMatchObject({ label: "tuesday", aliases: [] });
    expect(await failure(get("today"))).toMatchObject({ reason: "SESSION_NOT_FOUND" });
    expect(await failure(takeAway())).toMatchObject({
      reason: "ALIAS_NOT_FOUND",
      metadata: { alias: "today" },
    });
    expect(await failure(ledger.unaliasSession())).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["alias"],
    });
    expect(await failure(point("nobody"))).toMatchObject({ reason: "SESSION_NOT_FOUND" });
  });

  test("never hide a session: a label cannot be an alias, nor an id", async () => {
    const { id } = await ledger.session({ label: "seen" });
    await ledger.session({ label: "hidden" });
    for (const replace of [false, true]) {
      expect(await failure(ledger.aliasSession({ alias: "hidden", session: "seen", replace }))).toMatchObject(
        {
          reason: "ALIAS_TAKEN",
        },
      );
    }
    expect(await failure(ledger.aliasSession({ alias: id, session: "hidden" }))).toMatchObject({
      fields: ["alias"],
    });
  });

  test("are listed in order, with the sessions that they are of", async () => {
    await ledger.session({ label: "listed" });
    for (const alias of ["listed c", "listed a", "listed b"])
      await ledger.aliasSession({ alias, session: "listed" });
    const aliases = ["listed a", "listed b", "listed c"];
    expect((await get("listed")).aliases).toEqual(aliases);
    const { sessions } = await ledger.listSessions({ labelPrefix: "listed" });
    expect(sessions.map((session) => session.aliases)).toEqual([aliases]);
  });
});

describe("ListSessions", () => {
  async function pages(
    request: Parameters<LedgerCalls["listSessions"]>[0],
    between?: () => Promise<unknown>,
  ) {
    const sessions: Session[] = [];
    const sizes: number[] = [];
    for (let pageToken = ""; ; ) {
      const page = await ledger.listSessions({ ...request, pageToken });
      sessions.push(...page.sessions);
      sizes.push(page.sessions.length);
      if (page.nextPageToken === "") return { labels: sessions.map((session) => session.label), sizes };
      pageToken = page.nextPageToken;
      await between?.();
    }
  }

  test("gives the newest first, in pages of the size asked for, of those whose label begins so", async () => {
    const labels = Array.from({ length: 7 }, (_, index) => `paged ${index}`);
    for (const label of labels) await ledger.session({ label });
    await ledger.session({ label: "page" });
    expect(await pages({ labelPrefix: "paged ", pageSize: 3 })).toEqual({
      labels: labels.toReversed(),
      sizes: [3, 3, 1],
    });
    expect((await pages({ labelPrefix: "paged ", pageSize: 7 })).sizes).toEqual([7]);
    expect((await pages({ labelPrefix: "paged %" })).labels).toEqual([]);
  });

  test("goes on where it was, whatever comes and goes meanwhile", async () => {
    const labels = Array.from({ length: 9 }, (_, index) => `steady ${index}`);
    for (const label of labels) await ledger.session({ label });
    let step = 0;
    const { labels: seen } = await pages({ labelPrefix: "steady ", pageSize: 2 }, async () => {
      await ledger.session({ label: `steady new ${step++}` });
      if (step === 2) await ledger.deleteSession({ session: "steady 5" });
      if (step === 3) await ledger.deleteSession({ session: "steady 1" });
    });
    // Page 2 ends with the session that is deleted after it: its place is still known.
    expect(seen).toEqual([
      "steady 8",
      "steady 7",
      "steady 6",
      "steady 5",
      "steady 4",
      "steady 3",
      "steady 2",
      "steady 0",
    ]);
  });

  test("refuses page sizes out of bounds, and tokens that it did not give", async () => {
    const other = JSON.stringify(["other list", "x"]);
    for (const pageToken of ["x", "!!", "bnVsbA", "W10", other, "x".repeat(1_024)]) {
      expect(await failure(ledger.listSessions({ pageToken }))).toMatchObject({
        reason: "PAGE_TOKEN_INVALID",
        fields: ["page_token"],
      });
    }
    expect(await failure(ledger.listSessions({ pageToken: "x".repeat(2_049) }))).toMatchObject({
      reason: "INVALID_FIELD",
    });
    expect(await failure(ledger.listSessions({ pageSize: 1_001 }))).toMatchObject({ fields: ["page_size"] });
  });
});
