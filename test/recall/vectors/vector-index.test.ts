import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Caches } from "../../../src/domain/caches.js";
import { systemClock } from "../../../src/domain/clock.js";
import { Offload } from "../../../src/offload/offload.js";
import { InProcessVectors } from "../../../src/recall/vectors/in-process-vectors.js";
import { type Database, openDatabase } from "../../../src/storage/database.js";
import { VectorStore } from "../../../src/storage/recall/vector-store.js";
import { startPostgres } from "../../support/postgres.js";
import { insertDocuments } from "../../support/search-documents.js";
import { describeVectorIndex, seededVectors } from "./acceptance.js";

const folder = await mkdtemp(join(tmpdir(), "quire-vectors-"));
const postgres = await startPostgres();
const offload = new Offload(1);
afterAll(async () => {
  await offload.close();
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

const databases: readonly (readonly [string, string])[] = [
  ["sqlite", `file:${join(folder, "quire.db")}`],
  ...(postgres ? [["postgresql", postgres.url] as const] : []),
];

describe.each(databases)("vectors in process memory, stored in %s", (name, url) => {
  let database: Database;
  beforeAll(async () => {
    database = await openDatabase({ url, poolSize: 4 });
  });
  afterAll(() => database?.close());
  const open = (cacheBytes = 64_000_000) =>
    new InProcessVectors(new VectorStore(database), offload, systemClock, new Caches(), cacheBytes);

  describeVectorIndex(() => ({ database, open }));

  test.runIf(name === "postgresql")(
    "a slice is read in the order of the index, also before the table has statistics",
    async () => {
      const { partitionId, ids } = await insertDocuments(database, 600, "unknown");
      const store = new VectorStore(database);
      const embedder = await store.openEmbedder("unknown", 16);
      const vectors = seededVectors(4, 600, 16);
      await store.put(
        embedder.id,
        ids.map((documentId, at) => ({ documentId, vector: vectors[at]! })),
      );
      const { sqlReader } = database;
      // As large as the planner believes a table of 100,000 vectors to be.
      await sqlReader.execute(
        "UPDATE pg_class SET relpages = 1, reltuples = 100000 WHERE oid = CAST(? AS regclass)",
        ["search_vectors"],
      );
      await sqlReader.execute("DELETE FROM pg_statistic WHERE starelid = CAST(? AS regclass)", [
        "search_vectors",
      ]);
      const asked = vi.spyOn(sqlReader, "query");
      const slice = await store.since(partitionId, embedder.id, { writtenUs: 0n, documentId: 0 }, 20);
      const [text, args] = asked.mock.calls[0]!;
      asked.mockRestore();
      expect(slice.map(({ documentId }) => documentId)).toEqual(ids.slice(0, 20));
      const plan = (await sqlReader.query(`EXPLAIN ${text}`, args)).join("\n");
      expect(plan).toContain("Index Scan");
      expect(plan).not.toContain("Sort");
    },
  );

  test("more than the thread should hold up the event loop for is compared in another, with the same result", async () => {
    const { partitionId, ids } = await insertDocuments(database, 3_000, "many");
    const vectors = seededVectors(3, 3_000, 384);
    const index = open();
    await index.put(
      "large",
      ids.map((documentId, at) => ({ documentId, vector: vectors[at]! })),
    );
    const scope = { partitionIds: [partitionId] };
    const survey = await open().survey("large", vectors[1_234]!, {
      scope,
      nearest: 2,
      documentIds: [ids[7]!],
    });
    expect(survey.ids[0]).toBe(ids[1_234]);
    expect(survey.cosines[0]).toBeCloseTo(1, 5);
    expect(survey.ids).toHaveLength(3);
    const small = await open(1_000_000).survey("large", vectors[1_234]!, {
      scope,
      nearest: 2,
      documentIds: [ids[7]!],
    });
    expect(small).toEqual(survey);
  });

  test("what was written at once some time ago is read once, and not with each search", async () => {
    const { partitionId, ids } = await insertDocuments(database, 300, "at once");
    const vectors = seededVectors(5, 300, 16);
    const entries = ids.map((documentId, at) => ({ documentId, vector: vectors[at]! }));
    await open().put("m", entries);
    await database.sqlTransaction((sql) =>
      sql.execute("UPDATE search_vectors SET written_us = written_us - 60000000 WHERE partition_id = ?", [
        partitionId,
      ]),
    );
    let read = 0;
    class CountingStore extends VectorStore {
      override async since(...from: Parameters<VectorStore["since"]>) {
        const rows = await super.since(...from);
        read += rows.length;
        return rows;
      }
    }
    const counting = new CountingStore(database);
    const index = new InProcessVectors(counting, offload, systemClock, new Caches(), 64_000_000);
    const scope = { partitionIds: [partitionId] };
    for (let at = 0; at < 3; at++)
      expect((await index.survey("m", vectors[at]!, { scope, nearest: 1 })).ids[0]).toBe(ids[at]);
    expect(read).toBe(300);
  });

  test.runIf(name === "postgresql")("what another server stored is found", async () => {
    const { partitionId, ids } = await insertDocuments(database, 2, "other server");
    const [first, second] = seededVectors(4, 2, 16);
    const [here, there] = [open(), open()];
    const look = () => here.survey("m", second!, { scope: { partitionIds: [partitionId] }, nearest: 9 });
    await here.put("m", [{ documentId: ids[0]!, vector: first! }]);
    expect((await look()).ids).toHaveLength(1);
    await there.put("m", [{ documentId: ids[1]!, vector: second! }]);
    expect((await look()).ids[0]).toBe(ids[1]);
  });
});
