import { BodyFormat } from "./gen/quire/v1/rendering.js";
import { pause } from "./retry.js";
import { StreamReader } from "./stream-reader.js";

/** What a model is asked. */
export interface ModelRequest {
  /** The request body, as the provider takes it. */
  readonly body: Uint8Array;
  /** The model's name. */
  readonly model: string;
  readonly signal: AbortSignal;
  /** Takes pieces of the answer's text as they come. */
  readonly onText: (piece: string) => void;
}

/** A model that a turn can call. It gives the provider's response as it came: JSON, or the server-sent events of a stream. */
export interface Model {
  readonly format: BodyFormat;
  /** The model's name; the session's or the capsule's where it is left out. */
  readonly name?: string;
  call(request: ModelRequest): Promise<Uint8Array | string>;
}

export interface HttpModelOptions {
  readonly model?: string;
  readonly apiKey: string;
  /** Where the API is, such as "https://api.anthropic.com". */
  readonly baseUrl?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** How often a call is made again that failed for a passing reason: 4 times. */
  readonly retries?: number;
}

/** A provider's refusal or failure. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";

  constructor(
    /** The HTTP status; 0 where there was none. */
    readonly status: number,
    /** What the provider said, as it came. */
    readonly body: string,
    options?: ErrorOptions,
  ) {
    super(`the provider answered ${status || "nothing"}: ${body.slice(0, 500)}`, options);
  }

  /** Whether the model says that the context is too long for it. */
  get isOverflow(): boolean {
    return (
      this.status >= 400 &&
      this.status < 500 &&
      this.status !== 429 &&
      /prompt is too long|context_length_exceeded|context limit|maximum context length|context window|(token count|tokens).{0,80}exceed|exceeds? the (maximum|available)/i.test(
        this.body,
      )
    );
  }

  get mayPass(): boolean {
    return this.status === 0 || [408, 409, 429].includes(this.status) || this.status >= 500;
  }
}

interface Api {
  readonly format: BodyFormat;
  readonly baseUrl: string;
  path(model: string): string;
  headers(apiKey: string): Readonly<Record<string, string>>;
  /** What asks for a stream, in front of the body's other fields. */
  readonly streaming: string;
}

const bearer = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` });
const { ANTHROPIC_MESSAGES, OPENAI_RESPONSES, OPENAI_CHAT, GEMINI } = BodyFormat;

/** Anthropic's Messages API. */
export const anthropic = httpModel({
  format: ANTHROPIC_MESSAGES,
  baseUrl: "https://api.anthropic.com",
  path: () => "/v1/messages",
  headers: (apiKey) => ({ "x-api-key": apiKey, "anthropic-version": "2023-06-01" }),
  streaming: '"stream":true,',
});

/** OpenAI's Responses API. */
export const openai = httpModel({
  format: OPENAI_RESPONSES,
  baseUrl: "https://api.openai.com",
  path: () => "/v1/responses",
  headers: bearer,
  streaming: '"stream":true,',
});

/** Chat Completions, of OpenAI and of the many servers that speak it. */
export const openaiChat = httpModel({
  format: OPENAI_CHAT,
  baseUrl: "https://api.openai.com",
  path: () => "/v1/chat/completions",
  headers: bearer,
  streaming: '"stream":true,"stream_options":{"include_usage":true},',
});

/** Gemini's generateContent. */
export const gemini = httpModel({
  format: GEMINI,
  baseUrl: "https://generativelanguage.googleapis.com",
  path: (model) => `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
  headers: (apiKey) => ({ "x-goog-api-key": apiKey }),
  streaming: "",
});

function httpModel(api: Api): (options: HttpModelOptions) => Model {
  return ({ model, apiKey, baseUrl = api.baseUrl, headers = {}, retries = 4 }) => ({
    format: api.format,
    ...(model === undefined ? {} : { name: model }),
    async call(request) {
      const url = baseUrl + api.path(request.model);
      const all = { "content-type": "application/json", ...api.headers(apiKey), ...headers };
      const body = Buffer.concat([Buffer.from(`{${api.streaming}`), request.body.subarray(1)]);
      for (let failed = 0; ; failed++) {
        try {
          return await post(url, all, body, api.format, request);
        } catch (thrown) {
          const error =
            thrown instanceof ProviderError ? thrown : new ProviderError(0, whyOf(thrown), { cause: thrown });
          if (request.signal.aborted || failed >= retries || !error.mayPass) throw error;
          await pause(500 * 2 ** failed * (0.5 + Math.random() / 2), request.signal);
        }
      }
    },
  });
}

/** What `fetch` says is only that it failed; why is in its cause. */
function whyOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return cause instanceof Error ? `${thrown}: ${cause.message || String(cause)}` : String(thrown);
}

async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array<ArrayBuffer>,
  format: BodyFormat,
  { signal, onText }: ModelRequest,
): Promise<Uint8Array> {
  const response = await fetch(url, { method: "POST", headers, body, signal });
  if (!response.ok) throw new ProviderError(response.status, await response.text());
  const chunks: Uint8Array[] = [];
  const reader = new StreamReader(format, onText);
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    reader.read(chunk);
  }
  if (!reader.isDone) throw new ProviderError(0, reader.error || "the stream broke off");
  return Buffer.concat(chunks);
}
