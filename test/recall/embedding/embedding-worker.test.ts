import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Caches } from "../../../src/domain/caches.js";
import { systemClock } from "../../../src/domain/clock.js";
import { Offload } from "../../../src/offload/offload.js";
import { openaiEmbedder } from "../../../src/recall/embedders/openai.js";
import { EmbeddingWorker } from "../../../src/recall/embedding/embedding-worker.js";
import { InProcessVectors } from "../../../src/recall/vectors/in-process-vectors.js";
import { type Database, openDatabase } from "../../../src/storage/database.js";
import { EmbeddingJobs } from "../../../src/storage/recall/embedding-jobs.js";
import { VectorStore } from "../../../src/storage/recall/vector-store.js";
import {
  answersWithWords,
  type EmbeddingReply,
  type EmbeddingServer,
  startEmbeddingServer,
  wordVector,
} from "../../support/embedding-server.js";
import { gate } from "../../support/gate.js";
import { type HandTimers, handTimers } from "../../support/hand-timers.js";
import { startPostgres } from "../../support/postgres.js";
import { insertDocuments } from "../../support/search-documents.js";

const folder = await mkdtemp(join(tmpdir(), "quire-embedding-"));
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

describe.each(databases)("documents get their vectors on %s", (_, url) => {
  let database: Database;
  let server: EmbeddingServer;
  let timers: HandTimers;
  let texts: Map<number, string>;
  let told: string[];
  let opened: EmbeddingWorker[];
  let owner = 0;

  beforeAll(async () => {
    database = await openDatabase({ url, poolSize: 6 });
  });
  afterAll(() => database?.close());
  beforeEach(async () => {
    server = await startEmbeddingServer(answersWithWords);
    timers = handTimers();
    texts = new Map();
    told = [];
    opened = [];
    await database.sqlTransaction((sql) => sql.execute("DELETE FROM search_documents", []));
  });
  afterEach(async () => {
    await Promise.all(opened.map((worker) => worker.close()));
    await server.close();
  });

  const add = async (count: number, isEnlisted = true, textOf = (at: number) => `text number ${at}`) => {
    const { partitionId, ids } = await insertDocuments(database, count, `agent ${owner++}`);
    for (const [at, id] of ids.entries()) texts.set(id, textOf(at));
    if (isEnlisted) await database.sqlTransaction((sql) => EmbeddingJobs.enlist(sql, ids));
    return { scope: { partitionIds: [partitionId] }, ids };
  };
  const start = (model = "words", baseUrl = server.baseUrl) => {
    const embedder = openaiEmbedder({
      baseUrl,
      model,
      apiKey: "",
      timeoutMs: 60_000,
      retries: 0,
      dimensions: 0,
      batchSize: 8,
      queryPrefix: "",
      textPrefix: "",
    });
    const store = new VectorStore(database);
    const vectors = new InProcessVectors(store, offload, systemClock, new Caches(), 1_000_000);
    const worker = new EmbeddingWorker({
      embedder,
      jobs: new EmbeddingJobs(database),
      store,
      vectors,
      textsOf: async (jobs) =>
        new Map(jobs.flatMap(({ documentId: id }) => (texts.has(id) ? [[id, texts.get(id)!] as const] : []))),
      timers,
      batchSize: 8,
      pollMs: 1_000_000,
      onFailure: (words) => told.push(words),
      onRecovery: () => told.push("works again"),
    });
    opened.push(worker);
    worker.start();
    return { worker, vectors, embedder };
  };
  const jobs = async () =>
    Number((await database.sqlReader.query("SELECT COUNT(*) FROM embedding_jobs", []))[0]![0]);

  test("new ones in batches, each its own; blank and vanished ones need none", async () => {
    const { scope, ids } = await add(20, true, (at) => (at === 3 ? " \n " : `text number ${at}`));
    texts.delete(ids[4]!);
    const { worker, vectors, embedder } = start();
    await worker.idle();
    expect(server.requests.every(({ input }) => input.length <= 8)).toBe(true);
    expect(await worker.state()).toEqual({
      embedder: "openai/words",
      failure: undefined,
      documents: 20,
      embedded: 18,
      refused: 0,
    });
    expect(await jobs()).toBe(0);
    const [query] = await embedder.embed(["text number 7"], "query");
    const survey = await vectors.survey(embedder.id, query!, { scope, nearest: 1 });
    expect([survey.ids[0], survey.cosines[0]!.toFixed(3)]).toEqual([ids[7], "1.000"]);
    const more = await add(1);
    await worker.idle();
    expect((await vectors.survey(embedder.id, query!, { ...more, nearest: 1 })).ids).toHaveLength(1);
  });

  test("those that were there before, when an embedder is first set, behind the new ones", async () => {
    const { ids } = await add(20, false);
    const fresh = await add(1, true, () => "fresh");
    const { worker } = start();
    await worker.idle();
    expect(server.requests[0]!.input).toEqual(["fresh"]);
    expect((await worker.state()).embedded).toBe(ids.length + fresh.ids.length);
  });

  test("anew by another embedder, and what it has not made yet is not compared", async () => {
    const { scope } = await add(9);
    const first = start();
    await first.worker.idle();
    await first.worker.close();
    const rest = gate();
    server.script = async (request, index) => {
      if (index > 2) await rest.passed;
      return answersWithWords({ ...request, dimensions: 48 }, index);
    };
    const asked = server.requests.length;
    const second = start("other words");
    while (server.requests.length < asked + 2) await new Promise((turn) => setImmediate(turn));
    expect(await second.worker.state()).toMatchObject({ documents: 9, embedded: 8 });
    const query = Float32Array.from(wordVector("text", 48));
    const seen = () => second.vectors.survey("openai/other words", query, { scope, nearest: 20 });
    expect((await seen()).ids).toHaveLength(8);
    rest.open();
    await second.worker.idle();
    expect((await seen()).ids).toHaveLength(9);
    expect(await second.worker.state()).toMatchObject({ documents: 9, embedded: 9 });
  });

  const outages: readonly (readonly [string, EmbeddingReply])[] = [
    ["an error", { status: 500 }],
    ["too many requests", { status: 429 }],
    ["a broken connection", { close: true }],
    ["no JSON", { body: "<html>busy</html>" }],
  ];
  test.each(outages)("after an outage: %s", async (_, reply) => {
    await add(20);
    server.script = () => reply;
    const { worker } = start();
    for (let wait = 1; wait <= 3; wait++) {
      await timers.set(1);
      expect(server.requests).toHaveLength(wait);
      // New documents do not make it ask a failing embedder sooner.
      worker.wake();
      if (wait < 3) timers.runOutNext();
    }
    expect(await worker.state()).toMatchObject({ documents: 20, embedded: 0, refused: 0 });
    expect((await worker.state()).failure).toMatch(/answered|reached/);
    server.script = answersWithWords;
    timers.runOutNext();
    await worker.idle();
    expect(await worker.state()).toMatchObject({ embedded: 20, failure: undefined });
    expect(told).toEqual([expect.any(String), "works again"]);
  });

  test("after the endpoint was down, and after one that never answers", async () => {
    await add(3);
    await server.close();
    const down = start();
    await timers.set(1);
    expect(told).toEqual(["could not be reached (ECONNREFUSED)"]);
    server = await startEmbeddingServer(() => ({ hang: true }), Number(new URL(server.baseUrl).port));
    timers.runOutNext();
    while (server.requests.length < 1) await new Promise((turn) => setImmediate(turn));
    await down.worker.close();
    expect(await jobs()).toBe(3);
    server.script = answersWithWords;
    const { worker } = start();
    await worker.idle();
    expect(await worker.state()).toMatchObject({ embedded: 3, failure: undefined });
  });

  test("while one text is refused: the others go on, and it waits alone", async () => {
    await add(20, true, (at) => (at === 11 ? "poison" : `text number ${at}`));
    const script = server.script;
    server.script = (request, index) =>
      request.input.includes("poison") ? { status: 400 } : script(request, index);
    const { worker } = start();
    await timers.set(1);
    timers.runOutNext();
    await worker.idle();
    expect(await worker.state()).toMatchObject({ embedded: 19, refused: 1, failure: undefined });
    expect(await jobs()).toBe(1);
  });

  test("not while the endpoint gives wrong numbers, and then all of them", async () => {
    await add(5);
    server.script = ({ input }) => ({ vectors: input.map(() => [0, 0]) });
    const { worker } = start();
    await timers.set(1);
    expect(await worker.state()).toMatchObject({
      embedded: 0,
      failure: "answered with a vector that has no direction",
    });
    server.script = answersWithWords;
    timers.runOutNext();
    await worker.idle();
    // The one that was asked for alone waits for its time.
    expect(await worker.state()).toMatchObject({ embedded: 4, refused: 1, failure: undefined });
    await database.sqlTransaction((sql) => sql.execute("UPDATE embedding_jobs SET due_us = 0", []));
    await worker.idle();
    expect(await worker.state()).toMatchObject({ embedded: 5, refused: 0 });
  });

  test("never of other dimensions than before under the same name", async () => {
    await add(2);
    const { worker } = start();
    await worker.idle();
    await worker.close();
    await add(2);
    server.script = (request, index) => answersWithWords({ ...request, dimensions: 32 }, index);
    const again = start();
    await timers.set(1);
    expect(await again.worker.state()).toMatchObject({
      embedded: 2,
      failure: "made a vector of 32 dimensions, where it made 64 before",
    });
    expect(await jobs()).toBe(2);
  });

  test("each once, however many servers work at them", async () => {
    await add(100);
    const several = url.startsWith("file:") ? [start()] : [start(), start(), start()];
    await Promise.all(several.map(({ worker }) => worker.idle()));
    while ((await jobs()) > 0) await new Promise((turn) => setImmediate(turn));
    expect(server.requests.flatMap(({ input }) => input).sort()).toEqual([...texts.values()].sort());
  });

  test.skipIf(url.startsWith("file:"))(
    "not again where one comes while another server looks for those that have none",
    async () => {
      const { ids } = await add(1);
      const { worker, embedder } = start();
      await worker.idle();
      const embedding =
        "UPDATE search_vectors SET embedder_id = (SELECT id FROM search_embedders WHERE name = ?)";
      await database.sqlTransaction(async (sql) => {
        await sql.execute("INSERT INTO search_embedders (name, dimensions) VALUES ('another', 64)", []);
        await sql.execute(embedding, ["another"]);
        await EmbeddingJobs.enlist(sql, ids);
      });
      let looking: Promise<unknown> = Promise.resolve();
      await database.sqlTransaction(async (sql) => {
        await sql.execute(embedding, [embedder.id]);
        await sql.execute("DELETE FROM embedding_jobs", []);
        looking = new EmbeddingJobs(database).enlistMissing(embedder.id, 0);
        const waits = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted";
        while (Number((await database.sqlReader.query(waits, []))[0]![0]) === 0);
      });
      await looking;
      expect(await jobs()).toBe(0);
    },
  );
});
