import { expect, test } from "vitest";
import type { VectorIndex } from "../../../src/recall/vectors/vector-index.js";
import type { Database } from "../../../src/storage/database.js";
import { EmbeddingJobs } from "../../../src/storage/recall/embedding-jobs.js";
import { insertDocuments } from "../../support/search-documents.js";

/** Vectors of length 1 that follow from a seed. */
export function seededVectors(seed: number, count: number, dimensions: number): Float32Array[] {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state / 2 ** 31;
  };
  return Array.from({ length: count }, () => {
    const values = Float32Array.from({ length: dimensions }, next);
    const length = Math.hypot(...values);
    return values.map((value) => value / length);
  });
}

/** What every index of vectors does. */
export function describeVectorIndex(parts: () => { database: Database; open: () => VectorIndex }): void {
  test("the nearest of the scope come first, and nothing of other partitions takes their place", async () => {
    const { database, open } = parts();
    const mine = await insertDocuments(database, 40, "mine");
    const yours = await insertDocuments(database, 40, "yours");
    const vectors = seededVectors(1, 80, 16);
    const index = open();
    const entries = [...mine.ids, ...yours.ids].map((documentId, at) => ({
      documentId,
      vector: vectors[at]!,
    }));
    await index.put("m", entries);
    for (const look of [index, open()]) {
      // A vector of the others', so the nearest of all is not in the scope.
      const query = vectors[50]!;
      const expected = mine.ids
        .map((id, at) => ({ id, cosine: vectors[at]!.reduce((sum, value, i) => sum + value * query[i]!, 0) }))
        .sort((a, b) => b.cosine - a.cosine);
      const last = expected.at(-1)!;
      const survey = await look.survey("m", query, {
        scope: { partitionIds: [mine.partitionId] },
        nearest: 5,
        documentIds: [last.id, yours.ids[10]!, expected[0]!.id],
      });
      const wanted = [...expected.slice(0, 5), last];
      expect([...survey.ids]).toEqual(wanted.map(({ id }) => id));
      for (const [at, { cosine }] of wanted.entries()) expect(survey.cosines[at]).toBeCloseTo(cosine, 4);
      const both = await look.survey("m", query, {
        scope: { partitionIds: [mine.partitionId, yours.partitionId] },
        nearest: 1,
      });
      expect(both.ids[0]).toBe(yours.ids[10]);
      expect((await look.survey("m", query, { scope: { partitionIds: [] }, nearest: 5 })).ids).toHaveLength(
        0,
      );
    }
  });

  test("vectors of two embedders never meet, and a new one takes the place of the old", async () => {
    const { database, open } = parts();
    const { partitionId, ids } = await insertDocuments(database, 2, "change");
    const [a, b] = seededVectors(2, 2, 16);
    const [c] = seededVectors(2, 1, 12);
    const index = open();
    const scope = { partitionIds: [partitionId] };
    await index.put("m", [
      { documentId: ids[0]!, vector: a! },
      { documentId: ids[1]!, vector: b! },
    ]);
    await index.put("m of 12", [{ documentId: ids[0]!, vector: c! }]);
    for (const look of [index, open()]) {
      const seen = async (name: string, query: Float32Array) =>
        [...(await look.survey(name, query, { scope, nearest: 9 })).ids].sort();
      expect(await seen("m of 12", c!)).toEqual([ids[0]]);
      expect(await seen("m", a!)).toContain(ids[1]);
      expect(await seen("m", c!)).toEqual([]);
      expect(await seen("never used", a!)).toEqual([]);
    }
    await expect(index.put("m", [{ documentId: ids[1]!, vector: c! }])).rejects.toThrow(
      "made a vector of 12 dimensions, where it made 16 before",
    );
  });

  test("a vector comes together with the end of its job, and goes with its document", async () => {
    const { database, open } = parts();
    const { partitionId, ids } = await insertDocuments(database, 3, "going");
    const [a] = seededVectors(5, 1, 16);
    const jobs = new EmbeddingJobs(database);
    await database.sqlTransaction((sql) => EmbeddingJobs.enlist(sql, ids));
    const gone = ids[2]!;
    await database.sqlTransaction((sql) => sql.execute("DELETE FROM search_documents WHERE id = ?", [gone]));
    const index = open();
    await index.put("m", [
      { documentId: ids[0]!, vector: a! },
      { documentId: gone, vector: a! },
    ]);
    const scope = { partitionIds: [partitionId] };
    const seen = async (look: VectorIndex) => [...(await look.survey("m", a!, { scope, nearest: 9 })).ids];
    expect(await seen(index)).toEqual([ids[0]]);
    expect((await jobs.claim(100, 1)).map(({ documentId }) => documentId)).toContain(ids[1]);
    const left = await database.sqlReader.query("SELECT document_id FROM embedding_jobs", []);
    expect(left.map(([id]) => Number(id))).toEqual([ids[1]]);
    await database.sqlTransaction((sql) =>
      sql.execute("DELETE FROM search_documents WHERE partition_id = ?", [partitionId]),
    );
    index.forget(ids);
    expect(await seen(index)).toEqual([]);
    expect(await seen(open())).toEqual([]);
    expect(await database.sqlReader.query("SELECT document_id FROM embedding_jobs", [])).toEqual([]);
  });
}
