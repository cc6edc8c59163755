import { JsonNull } from "@prisma/client/runtime/client";
import type { ParityClient } from "./client.js";

/** One use of the client and what it gives with Prisma's own SQLite adapter: a value in `readable` form, or an error. */
export interface Operation {
  readonly name: string;
  readonly run: (client: ParityClient) => Promise<unknown>;
  readonly gives?: unknown;
  /** Prisma's code, and what the adapter said. */
  readonly fails?: { readonly code: string; readonly cause?: Record<string, unknown> };
}

/** Stores one row, reads it back through another query, and gives the fields that were set. */
function roundTrip(values: Readonly<Record<string, unknown>>): (client: ParityClient) => Promise<unknown> {
  return async (client) => {
    const { id } = await client.scalar.create({ data: values });
    const row = await client.scalar.findUniqueOrThrow({ where: { id } });
    return Object.fromEntries(Object.keys(values).map((key) => [key, row[key as keyof typeof row]]));
  };
}

const ada = { id: "a1", email: "ada@example.org", name: "Ada" };
const bob = { id: "b1", email: "bob@example.org", name: "Bob" };

const scalars: readonly Operation[] = [
  {
    name: "the largest Int",
    run: roundTrip({ int: 2_147_483_647 }),
    gives: { int: 2_147_483_647 },
  },
  {
    name: "the smallest Int",
    run: roundTrip({ int: -2_147_483_648 }),
    gives: { int: -2_147_483_648 },
  },
  {
    name: "the largest BigInt",
    run: roundTrip({ big: 9_223_372_036_854_775_807n }),
    gives: { big: "9223372036854775807n" },
  },
  {
    name: "the smallest BigInt",
    run: roundTrip({ big: -9_223_372_036_854_775_808n }),
    gives: { big: "-9223372036854775808n" },
  },
  {
    name: "a BigInt just beyond 2^53",
    run: roundTrip({ big: 9_007_199_254_740_993n }),
    gives: { big: "9007199254740993n" },
  },
  { name: "a small BigInt", run: roundTrip({ big: 7n }), gives: { big: "7n" } },
  { name: "the smallest Float", run: roundTrip({ float: 5e-324 }), gives: { float: 5e-324 } },
  { name: "a subnormal Float", run: roundTrip({ float: 1.5e-310 }), gives: { float: 1.5e-310 } },
  { name: "a large Float", run: roundTrip({ float: 1.25e308 }), gives: { float: 1.25e308 } },
  {
    name: "a Float with 17 digits",
    run: roundTrip({ float: 0.1 + 0.2 }),
    gives: { float: 0.30000000000000004 },
  },
  { name: "a whole Float", run: roundTrip({ float: 3 }), gives: { float: 3 } },
  { name: "a Decimal", run: roundTrip({ decimal: "1234.5678" }), gives: { decimal: "Decimal 1234.5678" } },
  { name: "a whole Decimal", run: roundTrip({ decimal: "-42" }), gives: { decimal: "Decimal -42" } },
  { name: "a small Decimal", run: roundTrip({ decimal: "0.0000001" }), gives: { decimal: "Decimal 1e-7" } },
  { name: "true", run: roundTrip({ bool: true }), gives: { bool: true } },
  { name: "false", run: roundTrip({ bool: false }), gives: { bool: false } },
  {
    name: "a DateTime with milliseconds",
    run: roundTrip({ date: new Date("2026-01-02T03:04:05.678Z") }),
    gives: { date: "date 2026-01-02T03:04:05.678Z" },
  },
  {
    name: "a DateTime before 1970",
    run: roundTrip({ date: "1899-12-31T23:59:59.999+02:00" }),
    gives: { date: "date 1899-12-31T21:59:59.999Z" },
  },
  {
    name: "Bytes with every value",
    run: roundTrip({ bytes: new Uint8Array(256).map((_, index) => index) }),
    gives: { bytes: `bytes ${Buffer.from(new Uint8Array(256).map((_, index) => index)).toString("hex")}` },
  },
  { name: "no Bytes", run: roundTrip({ bytes: new Uint8Array(0) }), gives: { bytes: "bytes " } },
  {
    name: "Json of every kind",
    run: roundTrip({ json: { a: [1, 2.5, "x", null, true], ключ: { deep: {} } } }),
    gives: { json: { a: [1, 2.5, "x", null, true], ключ: { deep: {} } } },
  },
  { name: "Json text", run: roundTrip({ json: "42" }), gives: { json: "42" } },
  { name: "a Json null", run: roundTrip({ json: JsonNull }), gives: { json: null } },
  {
    name: "text beyond the basic plane",
    run: roundTrip({ text: "naïve 漢字 👩‍👩‍👧 \u202e \r\n'\"`;--" }),
    gives: { text: "naïve 漢字 👩‍👩‍👧 \u202e \r\n'\"`;--" },
  },
  { name: "empty text", run: roundTrip({ text: "" }), gives: { text: "" } },
  { name: "text that looks like a number", run: roundTrip({ text: "007" }), gives: { text: "007" } },
  { name: "an enum", run: roundTrip({ colour: "GREEN" }), gives: { colour: "GREEN" } },
  {
    name: "null in every type",
    run: (client) => client.scalar.create({ data: { id: 5 } }),
    gives: {
      id: 5,
      int: null,
      big: null,
      float: null,
      decimal: null,
      bool: null,
      date: null,
      bytes: null,
      json: null,
      text: null,
      colour: null,
    },
  },
];

const filters: readonly Operation[] = [
  {
    name: "filters by BigInt",
    run: async (client) => {
      await client.scalar.createMany({
        data: [{ big: 9_007_199_254_740_992n }, { big: 9_007_199_254_740_993n }],
      });
      const where = { big: { gt: 9_007_199_254_740_992n } };
      return client.scalar.findMany({ where, select: { big: true } });
    },
    gives: [{ big: "9007199254740993n" }],
  },
  {
    name: "filters and sorts by DateTime",
    run: async (client) => {
      const dates = ["2026-03-01T00:00:00Z", "2025-03-01T00:00:00Z", "2027-03-01T00:00:00Z"];
      await client.scalar.createMany({ data: dates.map((date) => ({ date })) });
      const where = { date: { gte: new Date("2026-01-01T00:00:00Z") } };
      return client.scalar.findMany({ where, select: { date: true }, orderBy: { date: "desc" } });
    },
    gives: [{ date: "date 2027-03-01T00:00:00.000Z" }, { date: "date 2026-03-01T00:00:00.000Z" }],
  },
  {
    name: "filters by Bytes, Boolean and enum",
    run: async (client) => {
      await client.scalar.createMany({
        data: [
          { bytes: Buffer.from("ab"), bool: true, colour: "RED" },
          { bytes: Buffer.from("ab"), bool: false, colour: "RED" },
        ],
      });
      return client.scalar.count({ where: { bytes: Buffer.from("ab"), bool: true, colour: "RED" } });
    },
    gives: 1,
  },
  {
    name: "filters by a path in Json",
    run: async (client) => {
      await client.scalar.createMany({ data: [{ json: { kind: "x" } }, { json: { kind: "y" } }] });
      const where = { json: { path: "$.kind", equals: "y" } };
      return client.scalar.findMany({ where, select: { json: true } });
    },
    gives: [{ json: { kind: "y" } }],
  },
  {
    name: "pages with take, skip and a list",
    run: async (client) => {
      await client.scalar.createMany({ data: [5, 1, 4, 2, 3].map((int) => ({ int })) });
      const where = { int: { in: [1, 2, 3, 4] } };
      return client.scalar.findMany({
        where,
        select: { int: true },
        orderBy: { int: "asc" },
        take: 2,
        skip: 1,
      });
    },
    gives: [{ int: 2 }, { int: 3 }],
  },
];

const writes: readonly Operation[] = [
  {
    name: "creates nested rows and reads them as a tree",
    run: (client) =>
      client.author.create({
        data: {
          ...ada,
          profile: { create: { bio: "mathematician" } },
          posts: { create: [{ title: "one", tags: { create: { label: "t1" } } }, { title: "two" }] },
        },
        select: {
          name: true,
          profile: { select: { bio: true } },
          posts: {
            select: { title: true, views: true, tags: { select: { label: true } } },
            orderBy: { id: "asc" },
          },
        },
      }),
    gives: {
      name: "Ada",
      profile: { bio: "mathematician" },
      posts: [
        { title: "one", views: 0, tags: [{ label: "t1" }] },
        { title: "two", views: 0, tags: [] },
      ],
    },
  },
  {
    name: "upsert creates, then updates",
    run: async (client) => {
      const where = { tenant_key: { tenant: "t", key: "k" } };
      const upsert = () =>
        client.counter.upsert({
          where,
          create: { tenant: "t", key: "k", value: 1 },
          update: { value: { increment: 10 } },
        });
      return [await upsert(), await upsert()];
    },
    gives: [
      { tenant: "t", key: "k", value: 1 },
      { tenant: "t", key: "k", value: 11 },
    ],
  },
  {
    name: "createMany counts its rows, beyond one statement's parameters",
    run: async (client) => {
      const data = Array.from({ length: 1_500 }, (_, index) => ({ int: index, text: `row ${index}` }));
      const { count } = await client.scalar.createMany({ data });
      return [count, await client.scalar.count()];
    },
    gives: [1_500, 1_500],
  },
  {
    name: "createManyAndReturn gives the rows",
    run: (client) =>
      client.tag.createManyAndReturn({ data: [{ label: "x" }, { label: "y" }], select: { label: true } }),
    gives: [{ label: "x" }, { label: "y" }],
  },
  {
    name: "updateMany and deleteMany count their rows",
    run: async (client) => {
      await client.scalar.createMany({ data: [1, 2, 3].map((int) => ({ int })) });
      const updated = await client.scalar.updateMany({
        where: { int: { gt: 1 } },
        data: { int: { multiply: 10 } },
      });
      const deleted = await client.scalar.deleteMany({ where: { int: 30 } });
      return [
        updated,
        deleted,
        await client.scalar.findMany({ select: { int: true }, orderBy: { int: "asc" } }),
      ];
    },
    gives: [{ count: 2 }, { count: 1 }, [{ int: 1 }, { int: 20 }]],
  },
  {
    name: "connectOrCreate and disconnect many-to-many",
    run: async (client) => {
      await client.tag.create({ data: { label: "old" } });
      const labels = ["old", "new"];
      const connectOrCreate = labels.map((label) => ({ where: { label }, create: { label } }));
      await client.author.create({ data: ada });
      const { id } = await client.post.create({
        data: { title: "p", authorId: ada.id, tags: { connectOrCreate } },
      });
      const data = { tags: { disconnect: { label: "old" } } };
      const select = { tags: { select: { label: true } } };
      return [await client.post.update({ where: { id }, data, select }), await client.tag.count()];
    },
    gives: [{ tags: [{ label: "new" }] }, 2],
  },
  {
    name: "a delete cascades to children",
    run: async (client) => {
      await client.author.create({ data: { ...ada, posts: { create: { title: "p" } } } });
      await client.author.delete({ where: { id: ada.id } });
      return client.post.count();
    },
    gives: 0,
  },
];

const aggregates: readonly Operation[] = [
  {
    name: "aggregates every numeric type",
    run: async (client) => {
      await client.scalar.createMany({
        data: [
          { int: 1, big: 9_007_199_254_740_993n, float: 0.5, decimal: "1.25" },
          { int: 4, big: 10n, float: 1.5, decimal: "2.5" },
        ],
      });
      return client.scalar.aggregate({
        _count: { _all: true },
        _sum: { int: true, big: true, float: true, decimal: true },
        _avg: { int: true },
        _min: { big: true },
        _max: { big: true },
      });
    },
    gives: {
      _count: { _all: 2 },
      _sum: { int: 5, big: "9007199254741003n", float: 2, decimal: "Decimal 3.75" },
      _avg: { int: 2.5 },
      _min: { big: "10n" },
      _max: { big: "9007199254740993n" },
    },
  },
  {
    name: "aggregates of no rows are null",
    run: (client) => client.scalar.aggregate({ _sum: { int: true }, _max: { date: true }, _count: true }),
    gives: { _sum: { int: null }, _max: { date: null }, _count: 0 },
  },
  {
    name: "groups with having and order",
    run: async (client) => {
      await client.scalar.createMany({
        data: [
          { text: "a", int: 1 },
          { text: "b", int: 2 },
          { text: "a", int: 3 },
        ],
      });
      return client.scalar.groupBy({
        by: ["text"],
        _sum: { int: true },
        _count: true,
        having: { int: { _sum: { gt: 1 } } },
        orderBy: { text: "asc" },
      });
    },
    gives: [
      { text: "a", _sum: { int: 4 }, _count: 2 },
      { text: "b", _sum: { int: 2 }, _count: 1 },
    ],
  },
];

const raw: readonly Operation[] = [
  {
    name: "raw: a table's columns come in its types",
    run: async (client) => {
      const date = new Date("2026-01-02T03:04:05.678Z");
      const bytes = Buffer.from("ab");
      await client.scalar.create({
        data: {
          id: 1,
          int: 1,
          big: 2n,
          float: 0.5,
          decimal: "1.5",
          bool: true,
          date,
          bytes,
          json: [1],
          text: "t",
        },
      });
      return client.$queryRaw`SELECT * FROM Scalar`;
    },
    gives: [
      {
        id: 1,
        int: 1,
        big: "2n",
        float: 0.5,
        decimal: "Decimal 1.5",
        bool: true,
        date: "date 2026-01-02T03:04:05.678Z",
        bytes: "bytes 6162",
        json: [1],
        text: "t",
        colour: null,
      },
    ],
  },
  {
    name: "raw: integers of expressions are BigInt, other numbers are not",
    run: (client) =>
      client.$queryRaw`SELECT COUNT(*) AS n, 1 + 1 AS two, 0.5 AS half, 'x' AS text, NULL AS none`,
    gives: [{ n: "1n", two: "2n", half: 0.5, text: "x", none: null }],
  },
  {
    name: "raw: parameters of every type",
    run: (client) =>
      client.$queryRaw`SELECT ${5} AS number, ${0.25} AS float, ${9_007_199_254_740_993n} AS big, ${"t"} AS text, ${true} AS bool, ${null} AS none`,
    gives: [{ number: 5, float: 0.25, big: "9007199254740993n", text: "t", bool: 1, none: null }],
  },
  {
    name: "raw: a write counts its rows",
    run: async (client) => {
      await client.tag.createMany({ data: [{ label: "x" }, { label: "y" }] });
      return [
        await client.$executeRaw`UPDATE Tag SET label = label || '!'`,
        await client.$executeRaw`CREATE TABLE IF NOT EXISTS extra (id INTEGER)`,
        await client.$executeRawUnsafe("DELETE FROM Tag WHERE label = ?", "x!"),
      ];
    },
    gives: [2, 0, 1],
  },
  {
    name: "raw: a write that returns rows",
    run: (client) => client.$queryRaw`INSERT INTO Tag (label) VALUES ('a'), ('b') RETURNING label`,
    gives: [{ label: "a" }, { label: "b" }],
  },
];

const transactions: readonly Operation[] = [
  {
    name: "a batch is applied whole",
    run: async (client) => {
      const [first, second] = await client.$transaction([
        client.tag.create({ data: { label: "a" }, select: { label: true } }),
        client.tag.count(),
      ]);
      return [first, second];
    },
    gives: [{ label: "a" }, 1],
  },
  {
    name: "a batch that fails leaves nothing",
    run: async (client) => {
      const create = () => client.tag.create({ data: { label: "a" } });
      await client.$transaction([create(), create()]).catch(() => undefined);
      return client.tag.count();
    },
    gives: 0,
  },
  {
    name: "an interactive transaction commits",
    run: async (client) => {
      const seen = await client.$transaction(async (tx) => {
        await tx.tag.create({ data: { label: "a" } });
        return tx.tag.count();
      });
      return [seen, await client.tag.count()];
    },
    gives: [1, 1],
  },
  {
    name: "an interactive transaction that throws leaves nothing",
    run: async (client) => {
      const work = client.$transaction(async (tx) => {
        await tx.tag.create({ data: { label: "a" } });
        throw new Error("changed my mind");
      });
      return [await work.catch((error: Error) => error.message), await client.tag.count()];
    },
    gives: ["changed my mind", 0],
  },
  {
    name: "an error that is caught inside a transaction does not end it",
    run: async (client) => {
      await client.$transaction(async (tx) => {
        await tx.tag.create({ data: { label: "a" } });
        await tx.tag.create({ data: { label: "a" } }).catch(() => undefined);
        await tx.tag.create({ data: { label: "b" } });
      });
      return client.tag.count();
    },
    gives: 2,
  },
];

const errors: readonly Operation[] = [
  {
    name: "a second row with a unique value: P2002",
    run: async (client) => {
      await client.author.create({ data: ada });
      return client.author.create({ data: { ...bob, email: ada.email } });
    },
    fails: {
      code: "P2002",
      cause: { kind: "UniqueConstraintViolation", constraint: { fields: ["email"] }, table: "Author" },
    },
  },
  {
    name: "a second row with the same key of two columns: P2002",
    run: (client) => {
      const data = { tenant: "t", key: "k", value: 1 };
      return client.counter.createMany({ data: [data, data] });
    },
    fails: {
      code: "P2002",
      cause: { kind: "UniqueConstraintViolation", constraint: { fields: ["tenant", "key"] } },
    },
  },
  {
    name: "a child without its parent: P2003",
    run: (client) => client.post.create({ data: { title: "p", authorId: "nobody" } }),
    fails: { code: "P2003", cause: { kind: "ForeignKeyConstraintViolation" } },
  },
  {
    name: "a parent whose child restricts its delete: P2003",
    run: async (client) => {
      await client.author.create({ data: { ...ada, profile: { create: { bio: "b" } } } });
      return client.author.delete({ where: { id: ada.id } });
    },
    fails: { code: "P2003", cause: { kind: "ForeignKeyConstraintViolation" } },
  },
  {
    name: "a null where none may be: P2011",
    run: async (client) => {
      await client.$executeRaw`DROP TABLE Scalar`;
      await client.$executeRaw`CREATE TABLE Scalar (id INTEGER PRIMARY KEY, text TEXT NOT NULL)`;
      return client.scalar.create({ data: {}, select: { id: true } });
    },
    fails: { code: "P2011", cause: { kind: "NullConstraintViolation", constraint: { fields: ["text"] } } },
  },
  {
    name: "an update of no row: P2025",
    run: (client) => client.tag.update({ where: { id: 9 }, data: { label: "x" } }),
    fails: { code: "P2025" },
  },
  {
    name: "a delete of no row: P2025",
    run: (client) => client.tag.delete({ where: { id: 9 } }),
    fails: { code: "P2025" },
  },
  {
    name: "findUniqueOrThrow of no row: P2025",
    run: (client) => client.tag.findUniqueOrThrow({ where: { id: 9 } }),
    fails: { code: "P2025" },
  },
  {
    name: "a table that is gone: P2021",
    run: async (client) => {
      await client.$executeRaw`ALTER TABLE Counter RENAME TO Gone`;
      return client.counter.findMany();
    },
    fails: { code: "P2021", cause: { kind: "TableDoesNotExist", table: "main.Counter" } },
  },
  {
    name: "a column that is gone: P2022",
    run: async (client) => {
      await client.$executeRaw`ALTER TABLE Counter RENAME COLUMN value TO gone`;
      return client.counter.findMany();
    },
    fails: { code: "P2022", cause: { kind: "ColumnNotFound", column: "main.Counter.value" } },
  },
  {
    name: "raw SQL that does not parse: P2010",
    run: (client) => client.$queryRawUnsafe("SELEC 1"),
    fails: { code: "P2010", cause: { kind: "sqlite", extendedCode: 1, originalCode: "SQLITE_ERROR" } },
  },
  {
    name: "two raw statements in one call: P2010",
    run: (client) => client.$executeRawUnsafe("DELETE FROM Tag; DELETE FROM Author"),
    fails: { code: "P2010" },
  },
];

export const operations: readonly Operation[] = [
  ...scalars,
  ...filters,
  ...writes,
  ...aggregates,
  ...raw,
  ...transactions,
  ...errors,
];
