import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClosableEmbedder, embeddedEmbedder } from "../../../src/recall/embedders/embedded.js";
import { findEmbeddedFiles } from "../../../src/recall/embedders/embedded-files.js";
import { openaiEmbedder } from "../../../src/recall/embedders/openai.js";
import {
  answersWithWords,
  type EmbeddingServer,
  startEmbeddingServer,
} from "../../support/embedding-server.js";

let server: EmbeddingServer;

beforeAll(async () => {
  server = await startEmbeddingServer(answersWithWords);
});
afterAll(() => server.close());

const embedders: readonly (readonly [string, () => ClosableEmbedder])[] = [
  [
    "openai",
    () => ({
      ...openaiEmbedder({
        baseUrl: server.baseUrl,
        model: "words",
        apiKey: "",
        timeoutMs: 60_000,
        retries: 0,
        dimensions: 0,
        batchSize: 2,
        queryPrefix: "",
        textPrefix: "",
      }),
      close: async () => undefined,
    }),
  ],
  ["embedded", () => embeddedEmbedder(findEmbeddedFiles()!)],
];

const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, at) => sum + value * b[at]!, 0);

describe.each(embedders)("every embedder: %s", (_, open) => {
  let embedder: ClosableEmbedder;
  beforeAll(() => {
    embedder = open();
  });
  afterAll(() => embedder.close());

  test("gives each text one vector of length 1, in order, all of one size, the same each time", async () => {
    const texts = ["the cat sat on the mat", "quarterly revenue of the bank", "猫がマットの上に座った"];
    const together = await embedder.embed(texts, "text");
    expect(together).toHaveLength(3);
    for (const [at, vector] of together.entries()) {
      expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
      expect(vector.length).toBe(together[0]!.length);
      const [alone] = await embedder.embed([texts[at]!], "text");
      expect(alone).toEqual(vector);
    }
  });

  test("puts a text nearest to the question that it answers", async () => {
    const [pottery, bank] = await embedder.embed(
      ["I went to a pottery class with my kids", "interest rates of the bank rose"],
      "text",
    );
    const [question] = await embedder.embed(["a pottery class"], "query");
    expect(cosine(question!, pottery!)).toBeGreaterThan(cosine(question!, bank!));
  });

  test("takes what is long, odd or half of a character", async () => {
    const texts = [
      "x".repeat(1_000_000),
      "words ".repeat(100_000),
      "\u0000\u0007 a \ud83d",
      "😀".repeat(5_000),
    ];
    const vectors = await embedder.embed(texts, "text");
    expect(vectors.map((vector) => Math.hypot(...vector).toFixed(3))).toEqual(texts.map(() => "1.000"));
  });

  test("has nothing to do for no texts, and stops when it is told to", async () => {
    expect(await embedder.embed([], "text")).toEqual([]);
    await expect(embedder.embed(["a"], "text", AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
  });

  test("has an id that says how its vectors came to be", () => {
    expect(embedder.id).toMatch(/^(openai\/words|embedded\/minilm-l6-v2-fp16)$/);
  });
});
