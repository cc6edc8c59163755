import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Timers } from "../../src/domain/clock.js";
import type { EngineOptions } from "../../src/engine.js";
import { reindex } from "../../src/recall/indexing/reindex.js";
import { bothDatabases } from "../assembly/both-databases.js";
import type { Flags, OpenedEngine } from "../assembly/opened-engine.js";
import { asEntropy, entropy } from "../memory/memory-quire.js";
import {
  answersWithWords,
  type EmbeddingScript,
  type EmbeddingServer,
  startEmbeddingServer,
  wordVector,
} from "../support/embedding-server.js";
import { assistant, user } from "../support/messages.js";
import { startPostgres } from "../support/postgres.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** A model that knows what some words mean. */
const meanings: Readonly<Record<string, string>> = { automobile: "car", vehicle: "car", felines: "cats" };
const understands: EmbeddingScript = ({ input }) => ({
  vectors: input.map((text) => wordVector(text.replace(/\w+/gu, (word) => meanings[word] ?? word))),
});

/** Waits run out at once. */
const hasty: Timers = {
  after(_ms, callback) {
    const timer = setImmediate(callback);
    return { cancel: () => clearImmediate(timer) };
  },
};

let server: EmbeddingServer;
beforeEach(async () => {
  server = await startEmbeddingServer(understands);
});
afterEach(() => server.close());

describe.each(bothDatabases(postgres))("search by meaning: $name", ({ isMissing, open }) => {
  const openWith = (more: Flags = {}, options: EngineOptions = {}) =>
    open({ embedder: "openai", embedderOpenaiUrl: server.baseUrl, embedderRetries: "0", ...more }, options);
  const isEmbedded = ({ engine }: OpenedEngine) => engine.recall.embedding!.worker.idle();

  test("texts that were indexed anew get their vectors again, from the server that has the embedder", async () => {
    if (isMissing) return;
    const opened = await openWith();
    const { quire, engine } = opened;
    await quire.memory.insertArchival({ owner: entropy, content: "my car is red" });
    const ask = () => quire.memory.search({ query: "automobile", mode: "SEARCH_MODE_VECTOR" });
    await ask();
    await isEmbedded(opened);
    const before = await ask();
    expect(before.results).toHaveLength(1);
    await reindex(engine.database, () => undefined);
    // As it does every few seconds by itself.
    engine.recall.embedding!.worker.wake();
    await isEmbedded(opened);
    expect(await ask()).toMatchObject({ results: [{ id: before.results[0]!.id }], withoutVector: 0 });
  });

  test("finds what shares no word with the question, by hybrid and by vector, and says so", async () => {
    if (isMissing) return;
    const opened = await openWith();
    const { quire } = opened;
    await quire.memory.insertArchival({ owner: entropy, content: "my car is red" });
    await quire.memory.insertArchival({ owner: entropy, content: "the soup was cold" });
    await quire.ledger.createSession({ label: "talk", defaults: { capsule: "entropy" } });
    await quire.ledger.recordTurn({ session: "talk", messages: [user("cats sleep"), assistant("they do")] });
    await quire.memory.search({ query: "index what waits" });
    await isEmbedded(opened);
    for (const mode of ["SEARCH_MODE_HYBRID", "SEARCH_MODE_VECTOR", "SEARCH_MODE_AUTO"] as const) {
      const answer = await quire.memory.search({ query: "automobile", actor: asEntropy, mode });
      expect(answer.results[0]!.snippet).toBe("my car is red");
      expect(answer.results[0]!.match!.cosine).toBeGreaterThan(0.3);
      expect(answer).toMatchObject({ note: "", withoutVector: 0 });
      expect(answer.mode).toBe(mode === "SEARCH_MODE_AUTO" ? "SEARCH_MODE_HYBRID" : mode);
    }
    const keyword = await quire.memory.search({ query: "automobile", mode: "SEARCH_MODE_KEYWORD" });
    expect(keyword.results).toEqual([]);
    // The same question is asked of the model once.
    expect(server.requests.filter(({ input }) => input.includes("automobile"))).toHaveLength(1);
    const flux = await quire.memory.search({
      query: "automobile",
      actor: { kind: "ACTOR_KIND_AGENT", name: "flux" } as never,
    });
    expect(flux.results).toEqual([]);
  });

  test("with the endpoint down, writes and contexts go on and searches go by words; later it is made up for", async () => {
    if (isMissing) return;
    const { port } = new URL(server.baseUrl);
    await server.close();
    const opened = await openWith({}, { timers: hasty });
    const { quire } = opened;
    await quire.capsules.putCapsule({ name: "entropy", body: { persona: { corePrompt: "Be brief." } } });
    await quire.ledger.createSession({ label: "talk", defaults: { capsule: "entropy" } });
    for (let at = 0; at < 10; at++)
      await quire.ledger.recordTurn({
        session: "talk",
        messages: [user(`question ${at} about a car`), assistant("yes")],
      });
    const context = await quire.assembly.buildContext({
      context: { session: "talk", model: "claude-sonnet-5", event: { content: user("go on").parts } },
    } as never);
    expect(context).toBeDefined();
    const byWords = await quire.memory.search({ query: "question 3 about a car" });
    expect(byWords.results[0]!.snippet).toBe("question 3 about a car");
    expect(byWords).toMatchObject({
      mode: "SEARCH_MODE_KEYWORD",
      note: expect.stringContaining("the embedder"),
    });
    const { worker } = opened.engine.recall.embedding!;
    expect(await worker.state()).toMatchObject({ documents: 20, embedded: 0 });
    server = await startEmbeddingServer(answersWithWords, Number(port));
    await worker.idle();
    expect(await worker.state()).toMatchObject({ documents: 20, embedded: 20, failure: undefined });
  });

  test("while vectors are missing, the answer says how many", async () => {
    if (isMissing) return;
    server.script = (request, index) =>
      request.input.includes("refused") ? { status: 400 } : understands(request, index);
    const opened = await openWith({ embedderBatchSize: "1" });
    const { quire } = opened;
    await quire.memory.insertArchival({ owner: entropy, content: "refused" });
    await quire.memory.insertArchival({ owner: entropy, content: "my car is red" });
    await quire.memory.search({ query: "index what waits" });
    while ((await opened.engine.recall.embedding!.worker.state()).refused === 0)
      await new Promise((turn) => setImmediate(turn));
    await isEmbedded(opened);
    const answer = await quire.memory.search({ query: "vehicle" });
    expect(answer).toMatchObject({ mode: "SEARCH_MODE_HYBRID", withoutVector: 1 });
    expect(answer.results.map(({ snippet }) => snippet)).toEqual(["my car is red"]);
  });

  test("a deleted text is not found by its meaning", async () => {
    if (isMissing) return;
    const opened = await openWith();
    const { quire } = opened;
    const { entry } = await quire.memory.insertArchival({ owner: entropy, content: "my car is red" });
    await quire.memory.search({ query: "index what waits" });
    await isEmbedded(opened);
    expect((await quire.memory.search({ query: "vehicle" })).results).toHaveLength(1);
    await quire.memory.deleteArchival({ id: entry!.id });
    expect((await quire.memory.search({ query: "vehicle" })).results).toHaveLength(0);
    expect(await opened.engine.database.sqlReader.query("SELECT 1 FROM search_vectors", [])).toEqual([]);
  });
});

test("search by meaning without an embedder is refused, with what to set", async () => {
  const [{ open }] = bothDatabases(undefined) as [ReturnType<typeof bothDatabases>[number]];
  const { quire } = await open();
  await expect(quire.memory.search({ query: "x", mode: "SEARCH_MODE_VECTOR" })).rejects.toMatchObject({
    reason: "INVALID_FIELD",
  });
});
