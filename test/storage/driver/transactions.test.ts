import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { ParityClient } from "../../support/parity/client.js";
import { connectParity, openParity } from "../../support/parity/open.js";

const sql = (text: string, ...args: unknown[]) => ({ sql: text, args, argTypes: [] });

/** Prisma's own limits are of a few seconds. */
const patient = { maxWait: 120_000, timeout: 120_000 };

/** Opens an interactive transaction that has created a tag, and hands out the moment to end it. */
async function openTransaction(client: ParityClient) {
  let end: (failure?: Error) => void = () => undefined;
  const ending = new Promise<void>((resolve, reject) => {
    end = (failure) => (failure === undefined ? resolve() : reject(failure));
  });
  let done: Promise<void> = Promise.resolve();
  await new Promise<void>((started) => {
    done = client.$transaction(async (tx) => {
      await tx.tag.create({ data: { label: "inside" } });
      started();
      await ending;
    }, patient);
    done.catch(() => undefined);
  });
  return { commit: () => end(), fail: () => end(new Error("rolled back")), done };
}

describe("transactions", () => {
  it("a plain read never sees rows that are not committed", async () => {
    const { client } = await openParity();
    const transaction = await openTransaction(client);
    const read = client.tag.count();
    await sleep(20);
    transaction.fail();
    expect(await read).toBe(0);
    await expect(transaction.done).rejects.toThrow("rolled back");
  });

  it("a plain write during a transaction is not rolled back with it", async () => {
    const { client } = await openParity();
    const transaction = await openTransaction(client);
    const write = client.tag.create({ data: { label: "outside" } });
    await sleep(20);
    transaction.fail();
    await write;
    expect(await client.tag.findMany({ select: { label: true } })).toEqual([{ label: "outside" }]);
  });

  it("a reader sees the last committed state and does not wait", async () => {
    const { client, path } = await openParity();
    const reader = await connectParity({ path, mode: "reader" });
    const transaction = await openTransaction(client);
    expect(await reader.client.tag.count()).toBe(0);
    transaction.commit();
    await transaction.done;
    expect(await reader.client.tag.count()).toBe(1);
  });

  it("a reader's transaction keeps its snapshot", async () => {
    const { client, path } = await openParity();
    const reader = await connectParity({ path, mode: "reader" });
    const counts = await reader.client.$transaction(async (tx) => {
      const before = await tx.tag.count();
      await client.tag.create({ data: { label: "later" } });
      return [before, await tx.tag.count()];
    });
    expect(counts).toEqual([0, 0]);
  });

  it("transactions run one after another, so that none loses an update", async () => {
    const { client } = await openParity();
    const where = { tenant_key: { tenant: "t", key: "k" } };
    await client.counter.create({ data: { tenant: "t", key: "k", value: 0 } });
    const increment = () =>
      client.$transaction(async (tx) => {
        const { value } = await tx.counter.findUniqueOrThrow({ where });
        await sleep(1);
        await tx.counter.update({ where, data: { value: value + 1 } });
      }, patient);
    await Promise.all(Array.from({ length: 20 }, increment));
    expect(await client.counter.findUnique({ where })).toMatchObject({ value: 20 });
  });

  it("waiting queries and transactions run in the order of their arrival", async () => {
    const { adapter } = await openParity();
    const first = await adapter.startTransaction();
    const order: string[] = [];
    const note = (name: string) => () => void order.push(name);
    const waiting = [
      adapter.executeRaw(sql("INSERT INTO Tag (label) VALUES ('a')")).then(note("write")),
      adapter.startTransaction().then(async (transaction) => {
        order.push("transaction");
        await sleep(5);
        await transaction.commit();
      }),
      adapter.queryRaw(sql("SELECT 1")).then(note("read")),
    ];
    await first.commit();
    await Promise.all(waiting);
    expect(order).toEqual(["write", "transaction", "read"]);
  });

  it("a transaction that SQLite ended is refused, and nothing of it or after it is written", async () => {
    const { adapter } = await openParity();
    const transaction = await adapter.startTransaction();
    const insert = sql("INSERT OR ROLLBACK INTO Tag (id, label) VALUES (?, ?)", 1, "a");
    await transaction.executeRaw(insert);
    await expect(transaction.executeRaw(insert)).rejects.toMatchObject({
      cause: { kind: "UniqueConstraintViolation" },
    });
    const closed = { cause: { kind: "TransactionAlreadyClosed" } };
    await expect(transaction.executeRaw(sql("INSERT INTO Tag (label) VALUES ('b')"))).rejects.toMatchObject(
      closed,
    );
    await expect(transaction.queryRaw(sql("SELECT 1"))).rejects.toMatchObject(closed);
    await expect(transaction.commit()).rejects.toMatchObject(closed);
    expect((await adapter.queryRaw(sql("SELECT COUNT(*) FROM Tag"))).rows).toEqual([[0]]);
  });

  it("the client's transaction fails when SQLite ended it, even if the error was caught inside", async () => {
    const { client } = await openParity();
    const work = client.$transaction(async (tx) => {
      await tx.tag.create({ data: { id: 1, label: "a" } });
      await tx.$executeRaw`INSERT OR ROLLBACK INTO Tag (id, label) VALUES (1, 'b')`.catch(() => undefined);
    });
    await expect(work).rejects.toThrow();
    expect(await client.tag.count()).toBe(0);
  });

  it("a transaction on a full disk is refused", async () => {
    const { adapter } = await openParity();
    await adapter.executeScript("PRAGMA max_page_count = 30");
    const transaction = await adapter.startTransaction();
    await transaction.executeRaw(sql("INSERT INTO Tag (label) VALUES ('a')"));
    const large = sql("INSERT INTO Scalar (bytes) VALUES (zeroblob(1000000))");
    await expect(transaction.executeRaw(large)).rejects.toMatchObject({
      cause: { kind: "sqlite", extendedCode: 13 },
    });
    await expect(transaction.executeRaw(sql("INSERT INTO Tag (label) VALUES ('b')"))).rejects.toThrow();
    await expect(transaction.commit()).rejects.toThrow();
    expect((await adapter.queryRaw(sql("SELECT COUNT(*) FROM Tag"))).rows).toEqual([[0]]);
  });

  it("raw SQL cannot end a transaction and go on", async () => {
    const { client } = await openParity();
    const work = client.$transaction(async (tx) => {
      await tx.$executeRaw`COMMIT`;
      await tx.tag.create({ data: { label: "a" } });
    });
    await expect(work).rejects.toThrow();
    expect(await client.tag.count()).toBe(0);
  });

  it("raw SQL cannot leave a transaction open", async () => {
    const { client } = await openParity();
    await expect(client.$executeRaw`BEGIN`).rejects.toMatchObject({ code: "P2010" });
    await client.tag.create({ data: { label: "a" } });
    expect(await client.tag.count()).toBe(1);
  });

  it("a commit that fails rolls back and lets the next one in", async () => {
    const { adapter } = await openParity();
    await adapter.executeScript(
      "CREATE TABLE child (id INTEGER, tag INTEGER REFERENCES Tag DEFERRABLE INITIALLY DEFERRED)",
    );
    const transaction = await adapter.startTransaction();
    await transaction.executeRaw(sql("INSERT INTO child VALUES (1, 99)"));
    await expect(transaction.commit()).rejects.toMatchObject({
      cause: { kind: "ForeignKeyConstraintViolation" },
    });
    expect((await adapter.queryRaw(sql("SELECT COUNT(*) FROM child"))).rows).toEqual([[0]]);
  });

  it("a second end of a transaction does not open the gate for another", async () => {
    const { adapter } = await openParity();
    const first = await adapter.startTransaction();
    await first.commit();
    const second = await adapter.startTransaction();
    await first.rollback();
    await expect(first.commit()).rejects.toMatchObject({ cause: { kind: "TransactionAlreadyClosed" } });
    await second.executeRaw(sql("INSERT INTO Tag (label) VALUES ('a')"));
    const read = adapter.queryRaw(sql("SELECT COUNT(*) FROM Tag"));
    await second.rollback();
    expect((await read).rows).toEqual([[0]]);
  });

  it("savepoints roll back a part", async () => {
    const { adapter } = await openParity();
    const transaction = await adapter.startTransaction();
    await transaction.executeRaw(sql("INSERT INTO Tag (label) VALUES ('kept')"));
    await transaction.createSavepoint("s1");
    await transaction.executeRaw(sql("INSERT INTO Tag (label) VALUES ('dropped')"));
    await transaction.rollbackToSavepoint("s1");
    await transaction.releaseSavepoint("s1");
    await transaction.commit();
    expect((await adapter.queryRaw(sql("SELECT label FROM Tag"))).rows).toEqual([["kept"]]);
  });

  it("a transaction that waited longer than maxWait does not keep the gate", async () => {
    const { client } = await openParity();
    const transaction = await openTransaction(client);
    const late = client.$transaction(async () => undefined, { maxWait: 20 });
    await expect(late).rejects.toMatchObject({ code: "P2028" });
    transaction.commit();
    await transaction.done;
    expect(await client.tag.count()).toBe(1);
  });

  it("a transaction that ran longer than its timeout is rolled back and lets others in", async () => {
    const { client } = await openParity();
    const slow = client.$transaction(
      async (tx) => {
        await tx.tag.create({ data: { label: "slow" } });
        await sleep(100);
        await tx.tag.count();
      },
      { timeout: 20 },
    );
    await expect(slow).rejects.toMatchObject({ code: "P2028" });
    expect(await client.tag.count()).toBe(0);
  });

  it("a plain query inside one's own transaction fails in time instead of waiting for ever", async () => {
    const { client } = await openParity({ gateTimeoutMs: 30 });
    const work = client.$transaction(async () => client.tag.count());
    await expect(work).rejects.toMatchObject({ code: "P1008" });
    expect(await client.tag.count()).toBe(0);
  });

  it("only SERIALIZABLE is on offer", async () => {
    const { adapter } = await openParity();
    await expect(adapter.startTransaction("READ COMMITTED")).rejects.toMatchObject({
      cause: { kind: "InvalidIsolationLevel" },
    });
    await (await adapter.startTransaction("SERIALIZABLE")).commit();
  });
});
