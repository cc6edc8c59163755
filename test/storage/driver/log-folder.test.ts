import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../../src/storage/driver/database-sync.js";
import { LogFile } from "../../../src/storage/driver/log-file.js";
import { type SqliteAdapter, SqliteAdapterFactory } from "../../../src/storage/driver/sqlite-adapter.js";
import { tempFolder } from "../../support/temp-folder.js";

const pageBytes = 4_096;
const frameBytes = 24 + pageBytes;

const sql = (text: string, ...args: unknown[]) => ({ sql: text, args, argTypes: [] });

async function openWriter(logPages: number): Promise<{ adapter: SqliteAdapter; path: string }> {
  const path = join(tempFolder(), "quire.db");
  const adapter = await new SqliteAdapterFactory({ path, mode: "writer", logPages }).connect();
  onTestFinished(() => adapter.dispose());
  await adapter.executeScript("CREATE TABLE t (n INTEGER PRIMARY KEY, filling BLOB)");
  return { adapter, path };
}

/** A transaction of about three pages. */
async function write(adapter: SqliteAdapter, n: number): Promise<void> {
  const transaction = await adapter.startTransaction();
  await transaction.executeRaw(sql("INSERT INTO t VALUES (?, randomblob(8000))", n));
  await transaction.commit();
}

describe("the length of the log", () => {
  it("is told in pages, and is nothing again when SQLite begins it anew", () => {
    const path = join(tempFolder(), "quire.db");
    const database = openDatabase(path);
    const log = new LogFile(path, pageBytes);
    onTestFinished(() => {
      database.close();
      log.close();
    });
    expect(log.hasPages(1)).toBe(false);
    database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a)");
    const pages = () => (statSync(`${path}-wal`).size - 32) / frameBytes;
    for (let at = 0; at < 20; at++) {
      database.exec("INSERT INTO t VALUES (randomblob(5000))");
      expect([log.hasPages(pages()), log.hasPages(pages() + 1)]).toEqual([true, false]);
    }
    const before = pages();
    database.exec("PRAGMA wal_checkpoint(PASSIVE); INSERT INTO t VALUES (1)");
    expect(pages()).toBe(before);
    expect([log.hasPages(1), log.hasPages(before)]).toEqual([true, false]);
  });
});

describe("a log that has grown long", () => {
  it("is folded into the file while others write, and begun anew", async () => {
    const { adapter, path } = await openWriter(40);
    for (let n = 0; n < 400; n++) {
      await write(adapter, n);
      if (n % 20 === 19) await adapter.log!.idle();
    }
    // 400 transactions wrote about 1,200 pages; without folding the log would hold them all.
    expect(statSync(`${path}-wal`).size).toBeLessThan(200 * frameBytes);
    expect((await adapter.queryRaw(sql("SELECT count(*), sum(n) FROM t"))).rows).toEqual([[400, 79_800]]);
  });

  it("lets writes through while most of it is folded, and loses none of them", async () => {
    const { adapter, path } = await openWriter(40);
    await Promise.all(Array.from({ length: 300 }, (_, n) => write(adapter, n)));
    await adapter.log!.idle();
    await adapter.dispose();
    const database = openDatabase(path);
    onTestFinished(() => database.close());
    expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    expect(database.prepare("SELECT count(*) AS n FROM t").all()).toEqual([{ n: 300 }]);
  });

  it("is folded to its end before the database is closed", async () => {
    const { adapter, path } = await openWriter(40);
    for (let n = 0; n < 40; n++) await write(adapter, n);
    await adapter.dispose();
    expect(() => statSync(`${path}-wal`)).toThrow("ENOENT");
    const database = openDatabase(path);
    onTestFinished(() => database.close());
    expect(database.prepare("SELECT count(*) AS n FROM t").all()).toEqual([{ n: 40 }]);
  });
});
