import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface EmbeddingRequest {
  readonly model: string;
  readonly input: readonly string[];
  readonly dimensions?: number;
  readonly key: string;
}

/** What the server does with a call: the vectors, or something that goes wrong. */
export type EmbeddingReply =
  | { readonly vectors: readonly (readonly unknown[])[]; readonly indexes?: readonly number[] }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly body: string }
  | { readonly hang: true }
  | { readonly close: true };

export type EmbeddingScript = (
  request: EmbeddingRequest,
  index: number,
) => EmbeddingReply | Promise<EmbeddingReply>;

export interface EmbeddingServer {
  readonly baseUrl: string;
  readonly requests: readonly EmbeddingRequest[];
  /** What it does from now on. */
  script: EmbeddingScript;
  close(): Promise<void>;
}

/** A server on a loopback port that speaks OpenAI's embeddings and follows a script. */
export async function startEmbeddingServer(script: EmbeddingScript, port = 0): Promise<EmbeddingServer> {
  const requests: EmbeddingRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Omit<EmbeddingRequest, "key">;
    const key = (incoming.headers.authorization ?? "").replace(/^Bearer /, "");
    const request = { ...body, key };
    requests.push(request);
    const reply = await started.script(request, requests.length - 1);
    const send = (status: number, headers: Readonly<Record<string, string>>, text: string) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(text);
    };
    if ("close" in reply) response.destroy();
    else if ("hang" in reply) return;
    else if ("body" in reply) send(200, {}, reply.body);
    else if ("status" in reply)
      send(
        reply.status,
        reply.headers ?? {},
        JSON.stringify({ error: { message: "no", type: "api_error" } }),
      );
    else {
      const data = reply.vectors.map((embedding, at) => ({
        object: "embedding",
        index: reply.indexes?.[at] ?? at,
        embedding,
      }));
      send(200, {}, JSON.stringify({ object: "list", model: request.model, data }));
    }
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const { port: chosen } = server.address() as AddressInfo;
  const started = {
    baseUrl: `http://127.0.0.1:${chosen}/v1`,
    requests,
    script,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return started;
}

const dimensions = 64;

/**
 * A model of words: a text's vector is the sum of its words' directions, which follow from their letters. Texts that share words
 * are near each other.
 */
export function wordVector(text: string, size = dimensions): number[] {
  const vector = new Array<number>(size).fill(1e-3);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    let state = 2_166_136_261;
    for (const letter of word) state = Math.imul(state ^ letter.codePointAt(0)!, 16_777_619);
    for (let at = 0; at < size; at++) {
      state = Math.imul(state ^ (state >>> 13), 1_540_483_477) + 1;
      vector[at]! += state / 2 ** 31;
    }
  }
  return vector;
}

export const answersWithWords: EmbeddingScript = ({ input, dimensions }) => ({
  vectors: input.map((text) => wordVector(text, dimensions)),
});
