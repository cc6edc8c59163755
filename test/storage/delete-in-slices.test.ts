import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { type Database, openDatabase } from "../../src/storage/database.js";
import { deleteInSlices } from "../../src/storage/delete-in-slices.js";
import { startPostgres } from "../support/postgres.js";
import { tempFolder } from "../support/temp-folder.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** A database with so many stored answers, made at 0, 1, 2, ... */
async function withAnswers(
  url: string,
  count: number,
): Promise<{ database: Database; transactions: number[] }> {
  const database = await openDatabase({ url, poolSize: 2 });
  onTestFinished(() => database.close());
  const data = Array.from({ length: count }, (_, at) => ({
    tenantId: "t",
    method: "M",
    requestId: `request ${at}`,
    requestHash: Buffer.from("hash"),
    answer: Buffer.from("answer"),
    createdUs: BigInt(at),
  }));
  await database.transaction(async (tx) => {
    await tx.storedAnswer.createMany({ data });
  });
  const transactions: number[] = [];
  const counting: Database = {
    ...database,
    unsyncedWrite: (statements) => {
      transactions.push(transactions.length);
      return database.unsyncedWrite(statements);
    },
  };
  return { database: counting, transactions };
}

const old = (olderThanUs: bigint) => ({
  table: "stored_answers",
  key: ["tenant_id", "method", "request_id"],
  column: "created_us",
  olderThanUs,
});

describe.each([
  ["SQLite", async () => `file:${join(tempFolder(), "quire.db")}`, false],
  ["PostgreSQL", async () => (await postgres?.createDatabase()) ?? "", postgres === undefined],
] as const)("rows that are old, on %s", (_, createUrl, skip) => {
  test.skipIf(skip)("are deleted a few at a time, all of them and no others", async () => {
    const { database, transactions } = await withAnswers(await createUrl(), 240);
    expect(await deleteInSlices(database, old(230n))).toBe(230);
    expect(transactions.length).toBeGreaterThan(4);
    const left = await database.reader.storedAnswer.findMany({ select: { createdUs: true } });
    expect(left.map(({ createdUs }) => createdUs).sort()).toEqual(
      Array.from({ length: 10 }, (_, at) => BigInt(230 + at)),
    );
    expect(await deleteInSlices(database, old(230n))).toBe(0);
  });

  test.skipIf(skip)("are left where they are from the moment that it is told to stop", async () => {
    const { database, transactions } = await withAnswers(await createUrl(), 240);
    const stop = new AbortController();
    setImmediate(() => stop.abort());
    const deleted = await deleteInSlices(database, old(240n), stop.signal);
    expect(deleted).toBeGreaterThan(0);
    expect(deleted).toBeLessThan(240);
    expect(await database.reader.storedAnswer.count()).toBe(240 - deleted);
    const before = transactions.length;
    await deleteInSlices(database, old(240n), stop.signal);
    expect(transactions).toHaveLength(before);
  });
});

test("rows that are old do not keep others from writing until all are gone", async () => {
  const { database } = await withAnswers(`file:${join(tempFolder(), "quire.db")}`, 240);
  const order: string[] = [];
  const deleting = deleteInSlices(database, old(240n)).then(() => order.push("deleted"));
  const writing = database
    .sqlTransaction((sql) => sql.execute("DELETE FROM session_aliases", []))
    .then(() => order.push("written"));
  await Promise.all([deleting, writing]);
  expect(order).toEqual(["written", "deleted"]);
});
