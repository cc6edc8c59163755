import { setTimeout as sleep } from "node:timers/promises";
import { status as Code } from "@grpc/grpc-js";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../src/storage/database.js";
import { asStorageError } from "../../src/storage/storage-error.js";
import { body, type CapsuleCalls, connectCapsules } from "../capsule/capsule-calls.js";
import { allTurns, type LedgerCalls, ledgerCalls } from "../ledger/ledger-calls.js";
import { user } from "../support/messages.js";
import { startOwnPostgres } from "../support/postgres.js";
import { failure, startTestServer, type TestServer, wireError } from "../support/server.js";
import { type WorkspaceClient, workspaceCalls } from "../workspace/workspace-calls.js";

const databaseTimeoutMs = 3_000;
const maxConnections = 20;
const postgres = await startOwnPostgres([`max_connections=${maxConnections}`]);
afterAll(() => postgres?.stop());

const unavailable = {
  code: Code.UNAVAILABLE,
  reason: expect.stringMatching(/^(STORAGE_UNAVAILABLE|COMMIT_OUTCOME_UNKNOWN)$/),
  retry: true,
};

describe.skipIf(postgres === undefined)("when PostgreSQL", () => {
  let server: TestServer;
  let ledger: LedgerCalls;
  let capsules: CapsuleCalls;
  let workspaces: WorkspaceClient;
  let session: string;
  let url: string;

  beforeAll(async () => {
    ({ url } = postgres!);
    server = await startTestServer({ database: url, databaseTimeoutMs, databasePoolSize: 4 });
    ledger = ledgerCalls(server.ledger);
    capsules = connectCapsules(server.address);
    workspaces = workspaceCalls(server.address);
    session = (await ledger.session()).id;
    await ledger.turn(session, "", [user("hello")]);
    await capsules.putCapsule({ name: "atlas", body: body() });
  });
  afterAll(async () => {
    capsules?.close();
    workspaces?.close();
    await server?.stop();
  });
  afterEach(async () => {
    await everythingWorks();
  });

  /** One call of each way to the database: by the Prisma client and by hand-written SQL, in and outside of transactions. */
  const reads = {
    ListSessions: () => ledger.listSessions(),
    StreamHistory: () => ledger.history({ thread: { $case: "session", value: session } }),
    GetCapsule: () => capsules.getCapsule({ name: "atlas" }),
  };
  const writes = {
    RecordTurn: () =>
      ledger.recordTurn({ session, messages: [user("x")], onHeadMoved: "ON_HEAD_MOVED_BRANCH" }),
    CreateSession: () => ledger.createSession(),
    UpdateSession: () => ledger.updateSession({ session, setMetadata: { a: "b" } }),
    PutCapsule: () => capsules.putCapsule({ name: "atlas", body: body() }),
    PutWorkspace: () => workspaces.putWorkspace({ name: "home", path: "/" }),
  };
  type Calls = Readonly<Record<string, () => Promise<unknown>>>;

  async function failuresOf(calls: Calls) {
    const made = Object.entries(calls).map(async ([name, make]) => [name, await failure(make())] as const);
    return Object.fromEntries(await Promise.all(made));
  }

  function each(calls: Calls, expected: object) {
    return Object.fromEntries(Object.keys(calls).map((name) => [name, expect.objectContaining(expected)]));
  }

  /** Calls again while the answer is UNAVAILABLE, as its RetryInfo asks for; anything else is the test's to see. */
  async function persistently<T>(
    make: () => Promise<T>,
    seen: (error: object) => void = () => {},
  ): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await make();
      } catch (error) {
        const wire = wireError(error);
        seen(wire);
        expect(wire).toMatchObject(unavailable);
        if (attempt === 200) throw error;
        await sleep(100);
      }
    }
  }

  async function everythingWorks() {
    for (const call of Object.values({ ...reads, ...writes })) await persistently<unknown>(call);
  }

  /** Several may be at work at once: what an admin terminates is never another admin. */
  async function asAdmin<T>(work: (admin: pg.Client) => Promise<T>): Promise<T> {
    const admin = new pg.Client({ connectionString: url, application_name: "admin" });
    await admin.connect();
    try {
      return await work(admin);
    } finally {
      await admin.end();
    }
  }

  const terminateOthers =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'admin'";

  it("is read-only, as after a failover, writes are unavailable and reads go on", async () => {
    const name = new URL(url).pathname.slice(1);
    const setReadOnly = (value: string) =>
      asAdmin(async (admin) => {
        await admin.query("SET default_transaction_read_only = off");
        await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
        await admin.query(terminateOthers);
      });
    await setReadOnly("on");
    try {
      for (const read of Object.values(reads)) await persistently<unknown>(read);
      expect(await failuresOf(writes)).toEqual(each(writes, unavailable));
      const again = await openDatabase({ url, poolSize: 2 });
      await again.close();
    } finally {
      await setReadOnly("off");
    }
  });

  it("ends connections in the middle of writes, each write is done once, and what failed says try again", async () => {
    const writers = 6;
    const turnsEach = 12;
    const failures: object[] = [];
    let written = 0;
    const write = async () => {
      const own = (await persistently(() => ledger.session())).id;
      let parentTurnId = "";
      for (let index = 0; index < turnsEach; index++) {
        const request = {
          requestId: `${own}-${index}`,
          session: own,
          parentTurnId,
          messages: [user(`${index}`)],
        };
        const answer = await persistently(
          () => ledger.recordTurn(request),
          (error) => failures.push(error),
        );
        parentTurnId = answer.turn!.id;
        written++;
        if (written % 5 === 0) await asAdmin((admin) => admin.query(terminateOthers));
      }
      return own;
    };
    const sessions = await Promise.all(Array.from({ length: writers }, write));
    expect(failures.length).toBeGreaterThan(0);
    for (const own of sessions) {
      const turns = await persistently(() => allTurns(ledger, { session: own, scope: "TURN_SCOPE_WRITTEN" }));
      expect(turns.map(({ depth }) => depth)).toEqual(
        Array.from({ length: turnsEach }, (_, index) => turnsEach - index),
      );
    }
  });

  it("hangs, calls are given up after the configured time, and work when it goes on", async () => {
    const request = {
      ...{ requestId: "hung", session, messages: [user("once")], details: { model: "named" } },
      onHeadMoved: "ON_HEAD_MOVED_BRANCH" as const,
    };
    postgres!.signal("SIGSTOP");
    try {
      const calls = { ...reads, ...writes, Named: () => ledger.recordTurn(request) };
      expect(await failuresOf(calls)).toEqual(each(calls, unavailable));
      // With connections that are new, too.
      expect(await failuresOf(writes)).toEqual(each(writes, unavailable));
      await expect(openDatabase({ url, poolSize: 2, timeoutMs: 200 })).rejects.toMatchObject({
        reason: "STORAGE_UNAVAILABLE",
      });
    } finally {
      postgres!.signal("SIGCONT");
    }
    await persistently(() => ledger.recordTurn(request));
    await persistently(() => ledger.recordTurn(request));
    const after = await persistently(() => allTurns(ledger, { session, scope: "TURN_SCOPE_WRITTEN" }));
    expect(after.filter(({ details }) => details?.model === "named")).toHaveLength(1);
  });

  it("is killed, calls are unavailable, and work when it is back", async () => {
    await postgres!.kill();
    const calls = { ...reads, ...writes };
    try {
      expect(await failuresOf(calls)).toEqual(each(calls, unavailable));
      await expect(openDatabase({ url, poolSize: 2 })).rejects.toMatchObject({
        reason: "STORAGE_UNAVAILABLE",
      });
    } finally {
      await postgres!.restart();
    }
  });

  it("has no connection left, calls are unavailable, and work when it has", async () => {
    const others: pg.Client[] = [];
    onTestFinished(async () => {
      for (const other of others) await other.end();
    });
    const fill = async () => {
      for (let refused = false; !refused && others.length < maxConnections; ) {
        const other = new pg.Client({ connectionString: url, application_name: "other" });
        other.on("error", () => undefined);
        await other.connect().then(
          () => others.push(other),
          () => {
            refused = true;
          },
        );
      }
    };
    await asAdmin(async (admin) => {
      // The server may have connected again meanwhile, to index what was written.
      let ended: number | null = 1;
      while (ended !== 0) {
        await fill();
        ended = (await admin.query(`${terminateOthers} AND application_name <> 'other'`)).rowCount;
      }
    });
    await fill();
    expect(await failuresOf(writes)).toEqual(each(writes, unavailable));
    for (const other of others.splice(0)) await other.end();
  });

  it.each([
    ...["08006", "25006", "40001", "40P01", "53300", "55P03", "57P01", "57P02", "57P03", "58030"].map(
      (code) => [code, "STORAGE_UNAVAILABLE"],
    ),
    ...["22012", "23514", "42601", "XX000"].map((code) => [code, "INTERNAL"]),
  ])("answers %s, that is %s", async (code, reason) => {
    const database = await openDatabase({ url, poolSize: 2 });
    onTestFinished(() => database.close());
    const statement = `DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${code}'; END $$`;
    const ways = [
      () => database.transaction((tx) => tx.$executeRawUnsafe(statement)),
      () => database.reader.$executeRawUnsafe(statement),
      () => database.sqlTransaction((sql) => sql.execute(statement, [])),
      () => database.sqlReader.execute(statement, []),
    ];
    for (const way of ways) {
      const error = await way().catch((thrown: unknown) => thrown);
      expect(asStorageError(error)).toMatchObject({ reason });
    }
  });

  it("hangs for ever, the server can be stopped", async () => {
    const second = await startTestServer({
      database: await postgres!.createDatabase(),
      databaseTimeoutMs: 500,
    });
    await ledgerCalls(second.ledger).session();
    postgres!.signal("SIGSTOP");
    try {
      await second.stop();
    } finally {
      postgres!.signal("SIGCONT");
    }
  });
});
