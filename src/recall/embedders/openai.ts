import { createHash } from "node:crypto";
import { callFailure, UnusableAnswer } from "../../endpoints/call-failure.js";
import type { Endpoint } from "../../endpoints/endpoint.js";
import { openaiClient } from "../../endpoints/openai-client.js";
import { checkVectors } from "./check-vectors.js";
import type { EmbeddedSide, Embedder } from "./embedder.js";
import { prepareText } from "./prepare-text.js";

export interface OpenaiEmbedderOptions extends Endpoint {
  /** What the model is asked for; 0 for as many as it has. */
  readonly dimensions: number;
  /** Texts in one call, at most. */
  readonly batchSize: number;
  /** What some models want before a question, and before a text. */
  readonly queryPrefix: string;
  readonly textPrefix: string;
}

/** A number of a vector in JSON takes up to 25 characters. */
const charsPerNumber = 25;
const largestAnswerBytes = 64 * 1024 * 1024;
const mostDimensions = 4_096;

/** Vectors from an endpoint that speaks OpenAI's embeddings. */
export function openaiEmbedder(options: OpenaiEmbedderOptions): Embedder {
  const { model, batchSize, timeoutMs } = options;
  const answerBytes = Math.min(largestAnswerBytes, batchSize * mostDimensions * charsPerNumber + 65_536);
  const open = openaiClient(options, answerBytes);
  // To load it holds up the event loop: with the start, and not with a search.
  open().catch(() => undefined);
  const prefixes: Readonly<Record<EmbeddedSide, string>> = {
    query: options.queryPrefix,
    text: options.textPrefix,
  };
  /** What the model has, once it has answered. */
  let dimensions = options.dimensions || undefined;

  const embedBatch = async (input: readonly string[], signal?: AbortSignal) => {
    const { sdk, client } = await open();
    try {
      const answer = await client.embeddings.create(
        {
          model,
          input: [...input],
          encoding_format: "float",
          ...(options.dimensions > 0 && { dimensions: options.dimensions }),
        },
        { signal },
      );
      const vectors = checkVectors(inOrder(answer), input.length, dimensions);
      dimensions ??= vectors[0]?.length;
      return vectors;
    } catch (error) {
      signal?.throwIfAborted();
      throw callFailure(error, sdk, timeoutMs);
    }
  };

  return {
    id: embedderId(options),
    async embed(texts, side, signal) {
      const prepared = texts.map((text) => prepareText(text, prefixes[side]));
      const vectors: Float32Array[] = [];
      for (let at = 0; at < prepared.length; at += batchSize)
        vectors.push(...(await embedBatch(prepared.slice(at, at + batchSize), signal)));
      return vectors;
    },
  };
}

/** The address is not part of it: the same model elsewhere gives the same vectors. */
function embedderId({ model, dimensions, queryPrefix, textPrefix }: OpenaiEmbedderOptions): string {
  const prefixes =
    queryPrefix || textPrefix
      ? `+${createHash("sha256")
          .update(JSON.stringify([queryPrefix, textPrefix]))
          .digest("hex")
          .slice(0, 8)}`
      : "";
  return `openai/${model}${dimensions ? `@${dimensions}` : ""}${prefixes}`;
}

/** Servers that call themselves compatible leave out what the types promise, and some do not keep the order. */
function inOrder(answer: unknown): readonly unknown[] {
  const data = (answer as { readonly data?: unknown } | null)?.data;
  if (!Array.isArray(data)) throw new UnusableAnswer("answered in a form that is not known");
  const vectors: unknown[] = new Array(data.length);
  for (const [at, entry] of (data as readonly unknown[]).entries()) {
    const { index = at, embedding } = (entry ?? {}) as {
      readonly index?: unknown;
      readonly embedding?: unknown;
    };
    if (typeof index !== "number" || !(index in data) || vectors[index] !== undefined)
      throw new UnusableAnswer("answered with vectors that belong to no text");
    vectors[index] = embedding;
  }
  return vectors;
}
