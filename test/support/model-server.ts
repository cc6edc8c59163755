import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Protocol = "openai" | "anthropic";

export interface ModelRequest {
  readonly protocol: Protocol;
  readonly model: string;
  readonly system: string;
  readonly user: string;
  /** The limit of the answer, and the field that it came in. */
  readonly maxTokens: number;
  readonly limitField: string;
  /** As each header brought it. */
  readonly keys: { readonly bearer: string; readonly header: string };
}

/** What a model does with a request. */
export type ModelReply =
  | {
      readonly text: string;
      readonly stop?: "end" | "length" | "filter";
      readonly usage?: { readonly input: number; readonly output: number };
      /** Before the text, as models that think send it. */
      readonly thinking?: string;
    }
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly message?: string;
      readonly param?: string;
    }
  | { readonly body: string; readonly contentType?: string }
  /** Never answers: says nothing at all, or stops in the middle of the body. */
  | { readonly hang: "before headers" | "inside the body" }
  | { readonly close: true };

/** The reply to the request that is the index-th, from 0. */
export type ModelScript = (request: ModelRequest, index: number) => ModelReply | Promise<ModelReply>;

export interface ModelServer {
  /** What a client of the protocol takes as its base URL. */
  baseUrl(protocol: Protocol): string;
  readonly requests: readonly ModelRequest[];
  close(): Promise<void>;
}

/** A server on a free loopback port that speaks both providers' protocols and follows a script. */
export async function startModelServer(script: ModelScript): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming);
    if (request === undefined) {
      send(response, 404, {}, JSON.stringify({ error: { message: "no such path" } }));
      return;
    }
    requests.push(request);
    reply(response, request, await script(request, requests.length - 1));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: (protocol) => `http://127.0.0.1:${port}${protocol === "openai" ? "/v1" : ""}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readRequest(incoming: IncomingMessage): Promise<ModelRequest | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  if (incoming.method !== "POST") return undefined;
  const text = Buffer.concat(chunks).toString();
  const keys = {
    bearer: (incoming.headers.authorization ?? "").replace(/^Bearer /, ""),
    header: String(incoming.headers["x-api-key"] ?? ""),
  };
  if (incoming.url === "/v1/chat/completions") {
    const body = JSON.parse(text) as {
      readonly model: string;
      readonly messages: readonly { readonly role: string; readonly content: string }[];
      readonly max_tokens?: number;
      readonly max_completion_tokens?: number;
    };
    const said = (role: string) => body.messages.find((message) => message.role === role)?.content ?? "";
    return {
      protocol: "openai",
      model: body.model,
      system: said("system"),
      user: said("user"),
      maxTokens: body.max_tokens ?? body.max_completion_tokens ?? 0,
      limitField: body.max_tokens === undefined ? "max_completion_tokens" : "max_tokens",
      keys,
    };
  }
  if (incoming.url === "/v1/messages") {
    const body = JSON.parse(text) as {
      readonly model: string;
      readonly system: string;
      readonly messages: readonly { readonly content: string }[];
      readonly max_tokens: number;
    };
    return {
      protocol: "anthropic",
      model: body.model,
      system: body.system,
      user: body.messages[0]?.content ?? "",
      maxTokens: body.max_tokens,
      limitField: "max_tokens",
      keys,
    };
  }
  return undefined;
}

function reply(response: ServerResponse, request: ModelRequest, what: ModelReply): void {
  if ("close" in what) response.destroy();
  else if ("hang" in what) {
    if (what.hang === "inside the body") {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"id": "');
    }
  } else if ("body" in what) {
    send(response, 200, { "content-type": what.contentType ?? "application/json" }, what.body);
  } else if ("status" in what) {
    const { status, headers = {}, message = "no", param } = what;
    const error =
      request.protocol === "openai"
        ? { error: { message, type: "api_error", code: null, param: param ?? null } }
        : { type: "error", error: { type: "api_error", message } };
    send(response, status, headers, JSON.stringify(error));
  } else send(response, 200, {}, JSON.stringify(answers[request.protocol](request, what)));
}

function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(body);
}

type Answer = Extract<ModelReply, { readonly text: string }>;

const answers = {
  openai: ({ model }: ModelRequest, { text, stop = "end", usage, thinking }: Answer) => ({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 0,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: thinking === undefined ? text : `<think>${thinking}</think>\n${text}`,
          refusal: null,
        },
        finish_reason: { end: "stop", length: "length", filter: "content_filter" }[stop],
        logprobs: null,
      },
    ],
    ...(usage && {
      usage: {
        prompt_tokens: usage.input,
        completion_tokens: usage.output,
        total_tokens: usage.input + usage.output,
      },
    }),
  }),
  anthropic: ({ model }: ModelRequest, { text, stop = "end", usage, thinking }: Answer) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model,
    content: [
      ...(thinking === undefined ? [] : [{ type: "thinking", thinking, signature: "s" }]),
      { type: "text", text },
    ],
    stop_reason: { end: "end_turn", length: "max_tokens", filter: "refusal" }[stop],
    stop_sequence: null,
    ...(usage && {
      usage: {
        input_tokens: usage.input - 3,
        cache_creation_input_tokens: 1,
        cache_read_input_tokens: 2,
        output_tokens: usage.output,
      },
    }),
  }),
} as const;
