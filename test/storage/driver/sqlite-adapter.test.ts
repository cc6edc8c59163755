import { ColumnTypeEnum, type SqlQuery, type SqlResultSet } from "@prisma/driver-adapter-utils";
import { describe, expect, it } from "vitest";
import type { MemoryUse } from "../../../src/domain/bounded-cache.js";
import { Caches } from "../../../src/domain/caches.js";
import { SqliteAdapterFactory } from "../../../src/storage/driver/sqlite-adapter.js";
import { connectParity, openParity } from "../../support/parity/open.js";
import { tempFolder } from "../../support/temp-folder.js";

const sql = (text: string, ...args: unknown[]) => ({ sql: text, args, argTypes: [] });

describe("arguments", () => {
  it.each([
    ["text", "text", "text"],
    [5, "integer", 5],
    [-(2 ** 53), "real", -(2 ** 53)],
    [0.5, "real", 0.5],
    [9_007_199_254_740_993n, "integer", "9007199254740993"],
    [null, "null", null],
    [true, "integer", 1],
    [false, "integer", 0],
    [Buffer.from("ab"), "blob", new Uint8Array([97, 98])],
  ])("without types bind as what they are: %s as %s", async (value, type, result) => {
    const { adapter } = await openParity();
    expect((await adapter.queryRaw(sql("SELECT typeof(?1), ?1", value))).rows).toEqual([[type, result]]);
  });

  it("are not changed", async () => {
    const { adapter } = await openParity();
    const args = [true, "2026-01-01T00:00:00Z"];
    const argTypes = [
      { scalarType: "boolean", arity: "scalar" },
      { scalarType: "datetime", arity: "scalar" },
    ] as const;
    const { rows } = await adapter.queryRaw({ sql: "SELECT ?, ?", args, argTypes: [...argTypes] });
    expect(rows).toEqual([[1, "2026-01-01T00:00:00.000+00:00"]]);
    expect(args).toEqual([true, "2026-01-01T00:00:00Z"]);
  });

  it("with a NUL character are refused: the driver would cut the text", async () => {
    const { adapter, client } = await openParity();
    const refusal = { cause: { kind: "InvalidInputValue", message: expect.stringContaining("parameter 2") } };
    await expect(adapter.queryRaw(sql("SELECT ?, ?", "a", "b\0c"))).rejects.toMatchObject(refusal);
    await expect(client.tag.create({ data: { label: "b\0c" } })).rejects.toThrow("NUL");
    expect(await client.tag.count()).toBe(0);
  });

  it("beyond 64 bits, or of no SQL type, are refused", async () => {
    const { adapter } = await openParity();
    const outOfRange = { cause: { kind: "ValueOutOfRange" } };
    await expect(adapter.queryRaw(sql("SELECT ?", 2n ** 63n))).rejects.toMatchObject(outOfRange);
    for (const value of [undefined, Symbol("x"), {}, [1], new Date()]) {
      const refusal = {
        cause: { kind: "InvalidInputValue", message: expect.stringContaining("parameter 1") },
      };
      await expect(adapter.queryRaw(sql("SELECT ?", value))).rejects.toMatchObject(refusal);
    }
  });

  it("may be as many as SQLite takes, also where rows are asked for in order", async () => {
    const { client } = await openParity();
    await client.tag.createMany({ data: [{ label: "b" }, { label: "a" }] });
    const labels = ["a", "b", ...Array.from({ length: 30_000 }, (_, index) => `none ${index}`)];
    const found = await client.tag.findMany({
      where: { label: { in: labels } },
      orderBy: { label: "asc" },
    });
    expect(found.map(({ label }) => label)).toEqual(["a", "b"]);
  });
});

describe("results", () => {
  it("are rows of values, with a name and a type for each column", async () => {
    const { adapter } = await openParity();
    await adapter.executeRaw(sql("INSERT INTO Scalar (int, big, bytes) VALUES (1, 2, x'00ff')"));
    expect(await adapter.queryRaw(sql("SELECT int, big AS b, bytes, 1 + 1 FROM Scalar"))).toEqual({
      columnNames: ["int", "b", "bytes", "1 + 1"],
      columnTypes: [ColumnTypeEnum.Int32, ColumnTypeEnum.Int64, ColumnTypeEnum.Bytes, ColumnTypeEnum.Int64],
      rows: [[1, 2, new Uint8Array([0, 255]), 2]],
    });
  });

  it("hold exact integers: as text where a number is not exact, whatever the column", async () => {
    const { adapter } = await openParity();
    await adapter.executeRaw(
      sql("INSERT INTO Scalar (int, big) VALUES (?, ?)", 2n ** 53n + 1n, -(2n ** 63n)),
    );
    const both = sql("SELECT int, big FROM Scalar ORDER BY id");
    const exact = ["9007199254740993", "-9223372036854775808"];
    expect((await adapter.queryRaw(both)).rows).toEqual([exact]);
    await adapter.executeRaw(sql("INSERT INTO Scalar (int, big) VALUES (1, 2)"));
    expect((await adapter.queryRaw(both)).rows).toEqual([exact, [1, 2]]);
  });

  it("of a write are read exactly without running it twice", async () => {
    const { adapter } = await openParity();
    const insert = sql("INSERT INTO Scalar (big) VALUES (?) RETURNING big", 2n ** 53n + 1n);
    expect((await adapter.queryRaw(insert)).rows).toEqual([["9007199254740993"]]);
    expect((await adapter.queryRaw(sql("SELECT COUNT(*) FROM Scalar"))).rows).toEqual([[1]]);
  });

  it("count the rows that a write changed, and none for other statements", async () => {
    const { adapter } = await openParity();
    expect(await adapter.executeRaw(sql("INSERT INTO Tag (label) VALUES ('a'), ('b')"))).toBe(2);
    expect(await adapter.executeRaw(sql("/* look */ SELECT * FROM Tag"))).toBe(0);
    expect(await adapter.executeRaw(sql("CREATE INDEX i ON Tag (label)"))).toBe(0);
    expect(await adapter.executeRaw(sql("-- gone\nDELETE FROM Tag"))).toBe(2);
    expect(await adapter.executeRaw(sql("DELETE FROM Tag"))).toBe(0);
  });
});

describe("statements", () => {
  it("are prepared once, and the cache is bounded", async () => {
    // Room for four or so.
    const caches = new Caches(0.001);
    const { adapter } = await openParity({ caches });
    for (const round of [1, 2, 3]) {
      for (let index = 0; index < 10; index += 1) {
        expect((await adapter.queryRaw(sql(`SELECT ${index}, ?`, round))).rows).toEqual([[index, round]]);
      }
    }
    const [{ entries, bytes, maxBytes }] = caches.uses as [MemoryUse];
    expect(entries).toBeGreaterThan(1);
    expect(entries).toBeLessThan(10);
    expect(bytes).toBeLessThanOrEqual(maxBytes);
  });

  it("can be used again after they failed", async () => {
    const { adapter } = await openParity();
    const insert = (label: string) => adapter.executeRaw(sql("INSERT INTO Tag (label) VALUES (?)", label));
    await insert("a");
    await expect(insert("a")).rejects.toMatchObject({ cause: { kind: "UniqueConstraintViolation" } });
    expect(await insert("b")).toBe(1);
  });

  it("follow a change of the schema, made here or by another connection", async () => {
    const { adapter, path } = await openParity();
    const other = await connectParity({ path });
    await adapter.executeRaw(sql("INSERT INTO Tag (id, label) VALUES (1, 'a')"));
    const all = sql("SELECT * FROM Tag");
    await adapter.queryRaw(all);
    await adapter.executeRaw(sql("ALTER TABLE Tag ADD COLUMN here TEXT DEFAULT 'h'"));
    expect(await adapter.queryRaw(all)).toMatchObject({
      columnNames: ["id", "label", "here"],
      rows: [[1, "a", "h"]],
    });
    await other.adapter.executeRaw(sql("ALTER TABLE Tag ADD COLUMN there TEXT DEFAULT 't'"));
    for (let round = 0; round < 2; round += 1) {
      const { columnNames, columnTypes, rows } = await adapter.queryRaw(all);
      expect(rows[0]).toHaveLength(columnNames.length);
      expect(columnTypes).toHaveLength(columnNames.length);
    }
    expect((await adapter.queryRaw(all)).rows).toEqual([[1, "a", "h", "t"]]);
  });

  it("come one in a call; a second would be left out without a word", async () => {
    const { adapter } = await openParity();
    await expect(adapter.executeRaw(sql("DELETE FROM Tag; DELETE FROM Post"))).rejects.toMatchObject({
      cause: { kind: "InvalidInputValue" },
    });
    expect((await adapter.queryRaw(sql("SELECT ';' AS \"a;b\"; -- done"))).rows).toEqual([[";"]]);
    await adapter.executeRaw(
      sql("CREATE TRIGGER t AFTER INSERT ON Tag BEGIN DELETE FROM Post; DELETE FROM Post; END"),
    );
  });
});

describe("errors", () => {
  it("a violated index on an expression is named", async () => {
    const { adapter } = await openParity();
    await adapter.executeScript("CREATE UNIQUE INDEX lower_label ON Tag (lower(label))");
    await adapter.executeRaw(sql("INSERT INTO Tag (label) VALUES ('a')"));
    await expect(adapter.executeRaw(sql("INSERT INTO Tag (label) VALUES ('A')"))).rejects.toMatchObject({
      cause: { kind: "UniqueConstraintViolation", constraint: { index: "lower_label" } },
    });
  });

  it("a violated check keeps SQLite's code and words", async () => {
    const { adapter } = await openParity();
    await adapter.executeScript("CREATE TABLE positive (n INTEGER CHECK (n > 0))");
    await expect(adapter.executeRaw(sql("INSERT INTO positive VALUES (-1)"))).rejects.toMatchObject({
      cause: { kind: "sqlite", extendedCode: 275, message: "CHECK constraint failed: n > 0" },
    });
  });
});

describe("writes that do not wait for the disk", () => {
  const label = (text: string) => sql("INSERT INTO Tag (label) VALUES (?)", text);

  /** What SQLite goes by just now: a SELECT changes nothing about it. */
  const level = (adapter: { tryQuery(query: SqlQuery): SqlResultSet | undefined }) =>
    Number(adapter.tryQuery(sql("SELECT synchronous FROM pragma_synchronous"))?.rows[0]?.[0]);
  const full = 2;
  const normal = 1;

  it("take nothing from what is written next, in whatever way, and whether they succeed or fail", async () => {
    const { adapter } = await openParity({ synchronous: "FULL" });
    const lowered = [
      () => adapter.writeUnsynced([label("a")]),
      () => adapter.writeUnsynced([label("b"), label("c")]),
      () => adapter.writeUnsynced([label("d"), label("a")]).catch(() => undefined),
    ];
    let at = 0;
    const ways = [
      () => adapter.executeRaw(label(`by a statement ${at}`)),
      () => adapter.executeScript(`INSERT INTO Tag (label) VALUES ('by a script ${at}')`),
      () => adapter.queryRaw(sql("INSERT INTO Tag (label) VALUES (?) RETURNING id", `by a query ${at}`)),
      () =>
        adapter.queryRaw(
          sql("WITH r(l) AS (VALUES (?)) INSERT INTO Tag (label) SELECT l FROM r RETURNING id", `with ${at}`),
        ),
    ];
    for (const lower of lowered) {
      for (const write of ways) {
        await lower();
        expect(level(adapter)).toBe(normal);
        at++;
        await write();
        expect(level(adapter)).toBe(full);
        await adapter.executeRaw(sql("DELETE FROM Tag"));
      }
      await lower();
      const transaction = await adapter.startTransaction();
      const { rows } = await transaction.queryRaw(sql("SELECT synchronous FROM pragma_synchronous"));
      expect(Number(rows[0]?.[0])).toBe(full);
      await transaction.executeRaw(label("in a transaction"));
      await transaction.commit();
      expect(level(adapter)).toBe(full);
      await adapter.executeRaw(sql("DELETE FROM Tag"));
    }
  });

  it("are done as a whole or not at all", async () => {
    const { adapter, client } = await openParity();
    await expect(adapter.writeUnsynced([label("a"), label("b"), label("a")])).rejects.toThrow();
    expect(await client.tag.count()).toBe(0);
    await adapter.writeUnsynced([label("a"), label("b")]);
    expect(await client.tag.count()).toBe(2);
  });

  it("wait for the transaction that is open, and are not rolled back with it", async () => {
    const { adapter, client } = await openParity();
    const transaction = await adapter.startTransaction();
    await transaction.executeRaw(label("rolled back"));
    const written = adapter.writeUnsynced([label("a")]);
    await transaction.rollback();
    await written;
    expect(await client.tag.findMany({ select: { label: true } })).toEqual([{ label: "a" }]);
  });

  it("are there for other connections as soon as they are done", async () => {
    const { adapter, path } = await openParity();
    const reader = await connectParity({ path, mode: "reader" });
    await adapter.writeUnsynced([label("a")]);
    expect(await reader.client.tag.count()).toBe(1);
  });
});

describe("a query that is tried", () => {
  it("gives its rows at once, and nothing while a transaction is open", async () => {
    const { adapter } = await openParity();
    expect(adapter.tryQuery(sql("SELECT 1"))?.rows).toEqual([[1]]);
    const transaction = await adapter.startTransaction();
    await transaction.executeRaw(sql("INSERT INTO Tag (label) VALUES ('a')"));
    expect(adapter.tryQuery(sql("SELECT label FROM Tag"))).toBeUndefined();
    await transaction.commit();
    expect(adapter.tryQuery(sql("SELECT label FROM Tag"))?.rows).toEqual([["a"]]);
  });

  it("fails as any other does", async () => {
    const { adapter } = await openParity();
    expect(() => adapter.tryQuery(sql("SELECT * FROM nowhere"))).toThrow();
    expect(adapter.tryQuery(sql("SELECT 1"))?.rows).toEqual([[1]]);
  });
});

describe("connections", () => {
  it("are set up to be durable, with foreign keys and WAL", async () => {
    const { adapter } = await openParity({ synchronous: "FULL" });
    const pragma = async (name: string) => (await adapter.queryRaw(sql(`PRAGMA ${name}`))).rows[0]?.[0];
    expect(await Promise.all(["journal_mode", "synchronous", "foreign_keys"].map(pragma))).toEqual([
      "wal",
      2,
      1,
    ]);
  });

  it("of one factory are one", async () => {
    const factory = new SqliteAdapterFactory({ path: `${tempFolder()}/one.db`, mode: "writer" });
    const [first, second] = await Promise.all([factory.connect(), factory.connect()]);
    expect(first).toBe(second);
    await first.dispose();
    const third = await factory.connect();
    expect(third).not.toBe(first);
    await first.dispose();
    expect(await factory.connect()).toBe(third);
    await third.dispose();
  });

  it("of a reader refuse to write", async () => {
    const { path } = await openParity();
    const reader = await connectParity({ path, mode: "reader" });
    await expect(reader.client.tag.create({ data: { label: "a" } })).rejects.toThrow("readonly");
  });

  it("of a reader need a database that exists, and do not create one", async () => {
    const path = `${tempFolder()}/missing.db`;
    const factory = new SqliteAdapterFactory({ path, mode: "reader" });
    const missing = { cause: { kind: "DatabaseDoesNotExist", db: path } };
    await expect(factory.connect()).rejects.toMatchObject(missing);
    await expect(factory.connect()).rejects.toMatchObject(missing);
    const writer = await new SqliteAdapterFactory({ path, mode: "writer" }).connect();
    await (await factory.connect()).dispose();
    await writer.dispose();
  });

  it("once disposed of refuse everything, also what was waiting; disposing again does nothing", async () => {
    const { adapter } = await openParity();
    const transaction = await adapter.startTransaction();
    await transaction.executeRaw(sql("INSERT INTO Tag (label) VALUES ('a')"));
    const waiting = adapter.queryRaw(sql("SELECT 1"));
    await adapter.dispose();
    await adapter.dispose();
    const closed = { cause: { kind: "ConnectionClosed" } };
    await expect(waiting).rejects.toMatchObject(closed);
    await expect(transaction.commit()).rejects.toThrow();
    await expect(adapter.queryRaw(sql("SELECT 1"))).rejects.toMatchObject(closed);
    await expect(adapter.startTransaction()).rejects.toMatchObject(closed);
  });

  it("of a client open again after a disconnect", async () => {
    const { client } = await openParity();
    await client.tag.create({ data: { label: "a" } });
    await client.$disconnect();
    expect(await client.tag.count()).toBe(1);
  });
});
