import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeBody, renderBody } from "../../src/rendering/render.js";
import type { BodyFormat, RenderedBody } from "../../src/rendering/render-input.js";
import { contexts } from "./contexts.js";

/** The least that each SDK takes as an answer. */
const answers: readonly (readonly [path: string, answer: object])[] = [
  [
    "/v1/messages",
    {
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [],
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  ],
  ["/chat/completions", { id: "chatcmpl_1", object: "chat.completion", choices: [] }],
  ["/responses", { id: "resp_1", object: "response", status: "completed", output: [] }],
  [":generateContent", { candidates: [] }],
];

let server: Server;
let baseUrl: string;
let posted: Buffer[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      posted.push(Buffer.concat(chunks));
      const path = new URL(request.url ?? "", "http://localhost").pathname;
      const answer = answers.find(([end]) => path.endsWith(end))?.[1];
      response.writeHead(answer ? 200 : 404, { "content-type": "application/json" });
      response.end(JSON.stringify(answer ?? { error: { message: `nothing at ${path}` } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function postedBy(post: () => Promise<unknown>): Promise<string> {
  posted = [];
  await post();
  expect(posted).toHaveLength(1);
  return posted[0]!.toString("utf8");
}

const once = { maxRetries: 0, timeout: 120_000 };
const anthropic = () => new Anthropic({ apiKey: "none", baseURL: baseUrl, ...once });
const openai = () => new OpenAI({ apiKey: "none", baseURL: `${baseUrl}/v1`, ...once });
const google = () => new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl } });

interface Sender {
  readonly format: BodyFormat;
  readonly model: string;
  readonly post: (body: RenderedBody) => Promise<unknown>;
}

const senders: readonly Sender[] = [
  {
    format: "anthropic",
    model: "claude-opus-5-5",
    post: (body) => anthropic().messages.create(body as never),
  },
  {
    format: "openai-chat",
    model: "gpt-6-sol",
    post: (body) => openai().chat.completions.create(body as never),
  },
  {
    format: "openai-responses",
    model: "gpt-6-sol",
    post: (body) => openai().responses.create(body as never),
  },
];

describe.each(senders)("the SDK of $format", ({ format, model, post }) => {
  test.each(Object.entries(contexts))("posts the bytes of %s unchanged", async (_, input) => {
    const body = renderBody(format, { ...input, model });
    expect(await postedBy(() => post(body))).toBe(encodeBody(body).toString("utf8"));
  });
});

/**
 * This SDK takes settings apart and writes the body anew: keys in its own order, an empty `generationConfig` where there
 * is none. Nothing else may differ.
 */
describe("the SDK of gemini", () => {
  const model = "gemini-3.8-flash";

  test.each(
    Object.entries(contexts),
  )("posts all that is in %s and nothing else, from its own parameters", async (_, input) => {
    const body = renderBody("gemini", { ...input, model });
    const { contents, generationConfig, ...rest } = body as Record<string, object>;
    const config = { ...rest, ...generationConfig };
    const text = await postedBy(() => google().models.generateContent({ model, contents, config } as never));
    expect(JSON.parse(text)).toEqual({ generationConfig: {}, ...body });
  });

  test.each(
    Object.entries(contexts),
  )("posts the body of %s as it is, given as extra body", async (_, input) => {
    const body = renderBody("gemini", { ...input, model });
    const config = { httpOptions: { extraBody: body } };
    const text = await postedBy(() =>
      google().models.generateContent({ model, contents: body.contents, config } as never),
    );
    expect(JSON.parse(text)).toEqual({ generationConfig: {}, ...body });
  });
});
