import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type OpenaiEmbedderOptions, openaiEmbedder } from "../../../src/recall/embedders/openai.js";
import {
  answersWithWords,
  type EmbeddingReply,
  type EmbeddingServer,
  startEmbeddingServer,
} from "../../support/embedding-server.js";

let server: EmbeddingServer;

beforeEach(async () => {
  server = await startEmbeddingServer(answersWithWords);
});
afterEach(() => server.close());

function open(options: Partial<OpenaiEmbedderOptions> = {}) {
  return openaiEmbedder({
    baseUrl: server.baseUrl,
    model: "words",
    apiKey: "secret-key",
    timeoutMs: 60_000,
    retries: 0,
    dimensions: 0,
    batchSize: 2,
    queryPrefix: "",
    textPrefix: "",
    ...options,
  });
}

describe("the embedder of an endpoint", () => {
  test("sends texts in batches, with key, model, dimensions and the prefix of their side", async () => {
    const embedder = open({ dimensions: 8, queryPrefix: "query: ", textPrefix: "passage: " });
    await embedder.embed(["a", "b", " c "], "text");
    await embedder.embed(["d"], "query");
    const shared = { model: "words", dimensions: 8, encoding_format: "float", key: "secret-key" };
    expect(server.requests).toEqual([
      { ...shared, input: ["passage: a", "passage: b"] },
      { ...shared, input: ["passage: c"] },
      { ...shared, input: ["query: d"] },
    ]);
  });

  test("has another id for another model, other dimensions or other prefixes, the same at another address", () => {
    const ids = [{}, { model: "other" }, { dimensions: 8 }, { queryPrefix: "q" }, { textPrefix: "q" }].map(
      (options) => open(options).id,
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(open({ baseUrl: "http://127.0.0.1:1/v1", apiKey: "another" }).id).toBe(open().id);
  });

  test("gives each text its own vector, whatever order they come back in", async () => {
    const [first, second] = await open().embed(["one", "two"], "text");
    server.script = (request, index) => {
      const { vectors } = answersWithWords(request, index) as { vectors: number[][] };
      return { vectors: vectors.reverse(), indexes: [1, 0] };
    };
    expect(await open().embed(["one", "two"], "text")).toEqual([first, second]);
  });

  test("tries again after a passing failure", async () => {
    server.script = (request, index) =>
      index === 0 ? { status: 503, headers: { "retry-after-ms": "1" } } : answersWithWords(request, index);
    expect(await open({ retries: 1 }).embed(["a"], "text")).toHaveLength(1);
  });

  const failures: readonly (readonly [string, EmbeddingReply, string])[] = [
    ["too few vectors", { vectors: [[1, 2]] }, "answered with 1 vectors for 2 texts"],
    [
      "vectors of two sizes",
      {
        vectors: [
          [1, 2, 3],
          [1, 2],
        ],
      },
      "answered with a vector of 2 dimensions",
    ],
    ["an empty vector", { vectors: [[], []] }, "answered with a vector of 0 dimensions"],
    [
      "null in a vector",
      {
        vectors: [
          [1, null],
          [1, 2],
        ],
      },
      "answered with something that is no vector",
    ],
    [
      "numbers beyond all bounds",
      {
        vectors: [
          [1e300, 1],
          [1, 2],
        ],
      },
      "answered with a vector that has no direction",
    ],
    [
      "a vector of zeros",
      {
        vectors: [
          [0, 0],
          [1, 2],
        ],
      },
      "answered with a vector that has no direction",
    ],
    [
      "two vectors for one text",
      {
        vectors: [
          [1, 2],
          [1, 2],
        ],
        indexes: [0, 0],
      },
      "answered with vectors that belong to no text",
    ],
    [
      "a vector for no text",
      {
        vectors: [
          [1, 2],
          [1, 2],
        ],
        indexes: [0, 2],
      },
      "answered with vectors that belong to no text",
    ],
    ["JSON without data", { body: '{"hello": 1}' }, "answered in a form that is not known"],
    ["null", { body: "null" }, "answered in a form that is not known"],
    ["no JSON", { body: "<html>busy</html>" }, "answered with something that is not JSON"],
    ["an error", { status: 500 }, "answered with HTTP status 500 (api_error)"],
    ["a refusal", { status: 400 }, "answered with HTTP status 400 (api_error)"],
    ["a broken connection", { close: true }, "could not be reached"],
  ];
  test.each(failures)("says what was wrong with %s, and nothing else", async (_, reply, words) => {
    server.script = () => reply;
    const failed = open().embed(["a text of a user", "b"], "text");
    await expect(failed).rejects.toThrow(words);
    const { message } = (await failed.catch((error: Error) => error)) as Error;
    expect(message).not.toMatch(/secret-key|text of a user/);
  });

  test("notices a change of dimensions", async () => {
    const embedder = open();
    await embedder.embed(["a"], "text");
    server.script = (request, index) => answersWithWords({ ...request, dimensions: 32 }, index);
    await expect(embedder.embed(["a"], "text")).rejects.toThrow(
      "answered with a vector of 32 dimensions, where it has 64",
    );
  });

  test("does not wait for a server that does not answer", async () => {
    server.script = () => ({ hang: true });
    await expect(open({ timeoutMs: 20 }).embed(["a"], "text")).rejects.toThrow("gave no answer within 20 ms");
    const stop = new AbortController();
    const waiting = open().embed(["a"], "text", stop.signal);
    stop.abort(new Error("stop"));
    await expect(waiting).rejects.toThrow("stop");
  });
});
