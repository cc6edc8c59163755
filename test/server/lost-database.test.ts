import { copyFileSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { status as Code, credentials, makeGenericClientConstructor } from "@grpc/grpc-js";
import { service as healthService } from "grpc-health-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { ReceiptStore } from "../../src/storage/assembly/receipt-store.js";
import { openDatabase } from "../../src/storage/database.js";
import { SqliteAdapterFactory } from "../../src/storage/driver/sqlite-adapter.js";
import { body, connectCapsules } from "../capsule/capsule-calls.js";
import { ledgerCalls } from "../ledger/ledger-calls.js";
import { user } from "../support/messages.js";
import { failure, startTestServer } from "../support/server.js";
import { tempFolder } from "../support/temp-folder.js";
import { CapturedLog } from "./captured-log.js";

interface Loss {
  readonly name: string;
  readonly why: "deleted" | "replaced";
  lose(folder: string): void;
}

const file = "quire.db";
const losses: readonly Loss[] = [
  { name: "is deleted", why: "deleted", lose: (folder) => rmSync(join(folder, file)) },
  {
    name: "is deleted with its log",
    why: "deleted",
    lose: (folder) => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(join(folder, `${file}${suffix}`));
    },
  },
  { name: "loses its log", why: "deleted", lose: (folder) => rmSync(join(folder, `${file}-wal`)) },
  {
    name: "gets another log",
    why: "replaced",
    lose: (folder) => {
      const log = join(folder, `${file}-wal`);
      copyFileSync(log, `${log}.other`);
      renameSync(`${log}.other`, log);
    },
  },
  {
    name: "is replaced by a copy of itself",
    why: "replaced",
    lose: (folder) => {
      copyFileSync(join(folder, file), join(folder, "copy.db"));
      renameSync(join(folder, "copy.db"), join(folder, file));
    },
  },
  {
    name: "is moved with its folder",
    why: "deleted",
    lose: (folder) => renameSync(folder, `${folder}-moved`),
  },
];

/** A server on a database in a folder of its own, with one session. */
async function serving() {
  const root = tempFolder();
  const folder = join(root, "data");
  mkdirSync(folder);
  const log = new CapturedLog();
  const server = await startTestServer({ database: `file:${join(folder, file)}` }, log.logger);
  onTestFinished(() => server.stop());
  const capsules = connectCapsules(server.address);
  onTestFinished(() => capsules.close());
  const ledger = ledgerCalls(server.ledger);
  const session = (await ledger.session()).id;
  return { server, ledger, capsules, session, folder, log };
}

async function statusOf(address: string, service: string): Promise<string> {
  const Client = makeGenericClientConstructor(healthService, "Health");
  const client = new Client(address, credentials.createInsecure());
  try {
    return await new Promise((resolve, reject) => {
      client.check!({ service }, (error: Error | null, answer: { status: string }) =>
        error ? reject(error) : resolve(answer.status),
      );
    });
  } finally {
    client.close();
  }
}

const services = ["", "quire.v1.LedgerService", "quire.v1.CapsuleService", "quire.v1.AssemblyService"];

describe("a database file that", () => {
  it.each(losses)("$name takes no more writes, health says so, and reads go on", async ({ why, lose }) => {
    const { server, ledger, capsules, session, folder, log } = await serving();
    const { id: head } = await ledger.turn(session, "", [user("kept")]);
    expect(await statusOf(server.address, "")).toBe("SERVING");
    lose(folder);
    const lost = { code: Code.UNAVAILABLE, reason: "DATABASE_LOST", metadata: { why }, retry: false };
    const writes = [
      () => ledger.recordTurn({ requestId: "again", session, parentTurnId: head, messages: [user("lost")] }),
      () => ledger.createSession({ requestId: "again" }),
      () => capsules.putCapsule({ name: "atlas", body: body() }),
    ];
    for (const write of [...writes, ...writes]) expect(await failure(write())).toMatchObject(lost);
    for (const service of services) expect(await statusOf(server.address, service)).toBe("NOT_SERVING");
    const { sessions } = await ledger.listSessions();
    expect(sessions.map(({ headTurnId }) => headTurnId)).toEqual([head]);
    expect(
      log.lines.filter(({ level, reason }) => level === "error" && reason === "DATABASE_LOST"),
    ).toHaveLength(1);
  });

  it("comes back stays lost until the server is started again", async () => {
    const { ledger, session, folder } = await serving();
    renameSync(folder, `${folder}-moved`);
    const write = () => ledger.turn(session, "", [user("lost")]);
    expect(await failure(write())).toMatchObject({ reason: "DATABASE_LOST" });
    renameSync(`${folder}-moved`, folder);
    expect(await failure(write())).toMatchObject({ reason: "DATABASE_LOST" });
    const again = await startTestServer({ database: `file:${join(folder, file)}` });
    onTestFinished(() => again.stop());
    expect((await ledgerCalls(again.ledger).turn(session, "", [user("kept")])).depth).toBe(1);
  });

  it("was restored under the server is not touched by what the server wrote", async () => {
    const { server, ledger, session, folder } = await serving();
    await ledger.turn(session, "", [user("old")]);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(join(folder, `${file}${suffix}`));
    const restored = await openDatabase({ url: `file:${join(folder, file)}`, poolSize: 2 });
    onTestFinished(() => restored.close());
    expect(await failure(ledger.createSession())).toMatchObject({ metadata: { why: "replaced" } });
    await server.stop();
    expect(await restored.reader.session.count()).toBe(0);
    await restored.sqlTransaction((sql) => sql.execute("DELETE FROM sessions", []));
  });

  it("is deleted between a commit and its acknowledgement is not acknowledged", async () => {
    const path = join(tempFolder(), file);
    const adapter = await new SqliteAdapterFactory({ path, mode: "writer" }).connect();
    onTestFinished(() => adapter.dispose());
    await adapter.executeScript("CREATE TABLE t (x)");
    const check = adapter.file!.assertInPlace.bind(adapter.file);
    let checks = 0;
    adapter.file!.assertInPlace = () => {
      checks++;
      if (checks === 2) rmSync(path);
      check();
    };
    const transaction = await adapter.startTransaction();
    await transaction.executeRaw({ sql: "INSERT INTO t VALUES (1)", args: [], argTypes: [] });
    await expect(transaction.commit()).rejects.toMatchObject({ why: "deleted" });
    await expect(adapter.startTransaction()).rejects.toMatchObject({ why: "deleted" });
  });

  it("is gone is not written to again and again by receipts", async () => {
    const folder = tempFolder();
    const database = await openDatabase({ url: `file:${join(folder, file)}`, poolSize: 2 });
    onTestFinished(() => database.close());
    let transactions = 0;
    const counted: typeof database = {
      ...database,
      unsyncedWrite: (statements) => {
        transactions++;
        return database.unsyncedWrite(statements);
      },
    };
    const errors: unknown[] = [];
    const receipts = new ReceiptStore(counted, (error) => errors.push(error));
    const bytes = Buffer.from("x");
    const layers = {
      wire: bytes,
      contextWire: bytes,
      systemHash: bytes,
      toolsHash: bytes,
      templatesHash: null,
    };
    const add = (id: string) =>
      receipts.add({ tenantId: "default", id, sessionId: "s", createdUs: 1n, ...layers }, [bytes, bytes]);
    rmSync(join(folder, file));
    // They look for the file only after a while, since they may be lost together with it.
    for (let at = 0; errors.length === 0; at++) {
      add(`before ${at}`);
      await receipts.flush();
    }
    const tried = transactions;
    add("after");
    await receipts.flush();
    expect([transactions, errors.length]).toEqual([tried, 1]);
  });
});
