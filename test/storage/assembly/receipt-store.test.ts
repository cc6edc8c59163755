import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { Caches } from "../../../src/domain/caches.js";
import { megabyte } from "../../../src/domain/memory-size.js";
import { ReceiptStore } from "../../../src/storage/assembly/receipt-store.js";
import type { StoredReceipt } from "../../../src/storage/assembly/waiting-receipts.js";
import { type Database, openDatabase } from "../../../src/storage/database.js";
import { startPostgres } from "../../support/postgres.js";
import { tempFolder } from "../../support/temp-folder.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const tenantId = "t";
const sessionId = "s";

function receipt(at: number, bytes: number, prompt = `prompt ${at}`): StoredReceipt {
  return {
    tenantId,
    id: `receipt ${at}`,
    sessionId,
    wire: Buffer.alloc(bytes, at),
    contextWire: Buffer.alloc(0),
    systemHash: Buffer.from(prompt.padEnd(32)),
    toolsHash: Buffer.from("no tools".padEnd(32)),
    templatesHash: null,
    createdUs: BigInt(at),
  };
}

/** A store with a bound of 64 KB, unless another share is given, on a database whose writes fail or wait as the test says. */
async function openStore(share = 1 / 1_024, url = `file:${join(tempFolder(), "quire.db")}`) {
  const database = await openDatabase({ url, poolSize: 2 });
  onTestFinished(() => database.close());
  await database.transaction(async (tx) => {
    const data = { tenantId, id: sessionId, label: "s", metadataJson: "{}", createdUs: 0n, updatedUs: 0n };
    await tx.session.create({ data: data as never });
  });
  let before: () => Promise<void> = async () => {};
  let after: () => Promise<void> = async () => {};
  const writes: number[] = [];
  const held: Database = {
    ...database,
    unsyncedWrite: async (statements) => {
      await before();
      writes.push(1);
      const rows = await database.unsyncedWrite(statements);
      await after();
      return rows;
    },
  };
  const warnings: string[] = [];
  const caches = new Caches(share);
  const store = new ReceiptStore(held, (error) => warnings.push(String(error)), caches);
  onTestFinished(() => store.flush());
  const layers = [Buffer.from("prompt"), Buffer.from("tools")];
  return {
    store,
    warnings,
    writes,
    database,
    layers,
    beforeWrites(work: () => Promise<void>) {
      before = work;
    },
    afterWrites(work: () => Promise<void>) {
      after = work;
    },
  };
}

async function ids(database: Database): Promise<string[]> {
  const rows = await database.reader.receipt.findMany({
    select: { id: true },
    orderBy: { createdUs: "asc" },
  });
  return rows.map(({ id }) => id);
}

describe("receipts that wait to be written", () => {
  test.each([
    ["fails", () => Promise.reject(new Error("no disk"))],
    ["hangs", undefined],
  ])("stay within their bound while the database %s: the oldest give way, and the log says so once", async (_, failing) => {
    const { store, warnings, database, layers, beforeWrites } = await openStore();
    let release = () => {};
    const gate = new Promise<void>((open) => {
      release = open;
    });
    beforeWrites(failing ?? (() => gate));
    for (let at = 0; at < 400; at++) {
      store.add(receipt(at, 1_000), layers);
      expect(store.bytes).toBeLessThanOrEqual(store.maxBytes);
    }
    if (failing) await store.flush();
    expect(store.maxBytes).toBe(64 * 1_024);
    expect(store.entries).toBeGreaterThan(5);
    expect(warnings.filter((warning) => warning.includes("the oldest are dropped"))).toHaveLength(1);
    expect((await store.find(tenantId, "receipt 399"))?.wire).toHaveLength(1_000);
    expect(await store.find(tenantId, "receipt 0")).toBeUndefined();
    beforeWrites(async () => {});
    release();
    await store.flush();
    const written = await ids(database);
    expect(written.slice(-5)).toEqual([395, 396, 397, 398, 399].map((at) => `receipt ${at}`));
    expect([store.bytes, store.entries]).toEqual([0, 0]);
  });

  test("are tried again after a while, not with each further receipt", async () => {
    const { store, layers, beforeWrites } = await openStore(1);
    let attempts = 0;
    beforeWrites(async () => {
      attempts++;
      throw new Error("no disk");
    });
    for (let at = 0; at < 300; at++) store.add(receipt(at, 10), layers);
    await store.flush();
    const before = attempts;
    for (let at = 300; at < 320; at++) {
      store.add(receipt(at, 10), layers);
      await Promise.resolve();
    }
    expect(attempts).toBe(before);
    beforeWrites(async () => {});
  });

  test("are dropped if they are larger than the bound, and the others stay", async () => {
    const { store, database, layers, warnings } = await openStore();
    store.add(receipt(1, 10), layers);
    store.add(receipt(2, 100_000), layers);
    store.add(receipt(3, 10), layers);
    await store.flush();
    expect(await ids(database)).toEqual(["receipt 1", "receipt 3"]);
    expect(warnings).toHaveLength(1);
  });

  test("count a layer that they share once, and let it go with the last of them", async () => {
    const { store, layers } = await openStore();
    const large = [Buffer.alloc(20_000), layers[1]!];
    for (let at = 0; at < 10; at++) store.add({ ...receipt(at, 10, "same"), sessionId: `s${at}` }, large);
    expect(store.bytes).toBeLessThan(50_000);
    for (let at = 0; at < 9; at++) store.dropSession(tenantId, `s${at}`);
    expect(await store.findBlob(tenantId, receipt(9, 0, "same").systemHash)).toHaveLength(20_000);
    store.dropSession(tenantId, "s9");
    expect([store.bytes, store.entries]).toEqual([0, 0]);
  });

  test("are stored when their assemblies go on, and those that are added at once share a transaction", async () => {
    const { store, database, layers, writes } = await openStore(1);
    await Promise.all([1, 2, 3].map((at) => store.add(receipt(at, 10), layers)));
    expect(await ids(database)).toEqual(["receipt 1", "receipt 2", "receipt 3"]);
    await store.add(receipt(4, 10), layers);
    expect(await ids(database)).toHaveLength(4);
    expect(writes).toHaveLength(2);
  });

  test("hold nobody up while the database fails", async () => {
    const { store, layers, warnings, beforeWrites } = await openStore(1);
    beforeWrites(() => Promise.reject(new Error("no disk")));
    await store.add(receipt(1, 10), layers);
    await store.add(receipt(2, 10), layers);
    expect(warnings).toHaveLength(1);
    expect(store.entries).toBe(2);
    beforeWrites(async () => {});
  });

  test("are written in transactions of a few megabytes, all of them by one flush", async () => {
    const { store, database, layers, writes, warnings } = await openStore(1);
    for (let at = 0; at < 20; at++) store.add(receipt(at, megabyte), layers);
    await store.flush();
    expect(await ids(database)).toHaveLength(20);
    expect(writes).toHaveLength(3);
    expect(warnings).toEqual([]);
  });
});

const databases = [
  { name: "SQLite", open: () => openStore(1) },
  { name: "PostgreSQL", open: async () => openStore(1, await postgres!.createDatabase()) },
].filter(({ name }) => postgres || name === "SQLite");

describe.each(databases)("receipts that are written to $name", ({ open }) => {
  test("are left out where their session was deleted since, whoever is in the batch with them", async () => {
    const { store, database, layers } = await open();
    store.add(receipt(1, 10), layers);
    store.add({ ...receipt(2, 10), sessionId: "gone" }, layers);
    store.add({ ...receipt(3, 10), tenantId: "other" }, layers);
    store.add(receipt(4, 10), layers);
    await store.flush();
    await store.add({ ...receipt(5, 10), sessionId: "gone" }, layers);
    expect(await ids(database)).toEqual(["receipt 1", "receipt 4"]);
  });

  test("are all there, however many go into one transaction", async () => {
    const { store, database, layers } = await open();
    for (let at = 0; at < 100; at++) store.add(receipt(at, 10), layers);
    await store.flush();
    expect(await ids(database)).toEqual(Array.from({ length: 100 }, (_, at) => `receipt ${at}`));
  });

  test("may be written once more, where a commit seemed to fail and did not", async () => {
    const { store, database, layers, warnings, afterWrites } = await open();
    afterWrites(() => Promise.reject(new Error("no answer")));
    await store.add(receipt(1, 10), layers);
    afterWrites(async () => {});
    await store.flush();
    expect(await ids(database)).toEqual(["receipt 1"]);
    expect(warnings).toEqual(["Error: no answer"]);
    expect(store.entries).toBe(0);
  });

  test("go in with their layers or not at all", async () => {
    const { store, database, warnings } = await open();
    await store.add({ ...receipt(1, 10), createdUs: null as never }, [
      Buffer.from("prompt"),
      Buffer.from("tools"),
    ]);
    expect(await ids(database)).toEqual([]);
    expect(await database.reader.receiptBlob.count()).toBe(0);
    expect(warnings).toHaveLength(1);
    store.dropSession(tenantId, sessionId);
  });
});

describe("receipts that are old", () => {
  const hourUs = 3_600_000_000n;
  const made = (at: number, hours: number, templates: string): [StoredReceipt, Buffer[]] => [
    {
      ...receipt(at, 1),
      createdUs: BigInt(Math.round(hours * 10)) * (hourUs / 10n),
      templatesHash: Buffer.from(templates.padEnd(32)),
    },
    [Buffer.from("prompt"), Buffer.from("tools"), Buffer.from(templates)],
  ];

  test("go with the templates that no other one names, and those that one names stay", async () => {
    const { store } = await openStore();
    await store.add(...made(1, 1, "gone"));
    await store.add(...made(2, 2, "kept"));
    await store.add(...made(3, 9, "kept"));
    expect(await store.forget(5n * hourUs)).toBe(2);
    const found = (templates: string) => store.findBlob(tenantId, Buffer.from(templates.padEnd(32)));
    expect((await found("kept"))?.toString()).toBe("kept");
    expect(await found("gone")).toBeUndefined();
  });

  test("leave the layers that are used all the time, however long ago they were written first", async () => {
    const { store } = await openStore();
    for (let at = 0; at < 50; at++) await store.add(...made(at, at / 2, "kept"));
    expect(await store.forget(24n * hourUs)).toBe(48);
    expect(await store.findBlob(tenantId, Buffer.from("kept".padEnd(32)))).toBeDefined();
    expect(await store.forget(26n * hourUs)).toBe(2);
    expect(await store.findBlob(tenantId, Buffer.from("kept".padEnd(32)))).toBeUndefined();
  });

  test("bring a layer back that went with others, when it is used again", async () => {
    const { store } = await openStore();
    await store.add(...made(1, 1, "back"));
    await store.forget(9n * hourUs);
    expect(await store.findBlob(tenantId, Buffer.from("back".padEnd(32)))).toBeUndefined();
    await store.add(...made(2, 10, "back"));
    expect((await store.findBlob(tenantId, Buffer.from("back".padEnd(32))))?.toString()).toBe("back");
  });
});
