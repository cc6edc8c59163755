import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { busyScript, type Script, type Situation, type Step } from "./script.js";
import { eventsOf } from "./stream.js";

/**
 * A stand-in for a model provider: it refuses what its provider refuses, and answers by a script, always the same. It knows nothing of
 * Quire, and needs nothing but Node.
 */
export interface FakeProvider {
  readonly name: string;
  /** Where bodies are posted. */
  readonly url: string;
  /** Every request it answered with an error, in words. */
  readonly refusals: readonly string[];
  /** How many of those were refused as too long. */
  readonly overflows: number;
  /** How many requests it answered. */
  readonly answered: number;
  /** What the last one came to. */
  readonly lastTokens: number;
  /** What all of them came to, and how much of that was read from the simulated cache. */
  readonly totals: { readonly input: number; readonly cached: number };
  /** Contexts of more tokens than this are refused as too long; `says` is whether the error names the number. */
  limit: { tokens: number; says: boolean } | undefined;
  /** Is told of each answer, once all of it was sent. */
  onAnswer: (() => void) | undefined;
  close(): Promise<void>;
}

/** What a provider answers with when it refuses. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly code = "invalid_request_error",
  ) {
    super(message);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a body is what somebody posted
export type Json = any;

/** How one provider's API behaves. */
export interface Api {
  readonly name: string;
  /** An address of it. */
  readonly path: string;
  /** All its addresses. A first group is the model, a second one says whether it is to stream. */
  readonly paths: RegExp;
  /** Throws `Refused` for a body that the provider would refuse. */
  check(body: Json): void;
  /** The body as its cache reads it: from the first piece on, with a mark where it may keep what came before. */
  pieces(body: Json): readonly { readonly text: string; readonly isMarked: boolean }[];
  /** The body as its model reads it. */
  reads(body: Json): Omit<Situation, "number">;
  /** What the provider makes of its model's next step. */
  answer(asked: Asked, step: Step): Json;
  tooLong(tokens: number, limit: number | undefined): Refused;
  error(refused: Refused): Json;
}

export interface Asked {
  readonly body: Json;
  readonly model: string;
  /** The number of the answer. */
  readonly number: number;
  readonly tokens: Tokens;
  readonly isStreamed: boolean;
}

export interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly written: number;
}

/** What a text comes to: a plain rule, so that anybody can work it out again. */
export function tokensOf(text: string): number {
  return Math.ceil(text.length / 3.5);
}

/** What a provider signs with its own name; another text under the same signature is found out. */
export function signed(provider: string, text: string): string {
  return createHash("sha256").update(`${provider}\n${text}`).digest("base64");
}

export function require(isKept: boolean, message: string): asserts isKept {
  if (!isKept) throw new Refused(message);
}

/** Providers refuse what they do not know. */
export function onlyFields(value: Json, known: string, path: string): void {
  require(typeof value === "object" && value !== null && !Array.isArray(value), `${path}: must be an object`);
  const names = known.split(/\s+/);
  for (const key of Object.keys(value)) {
    require(names.includes(key), `${path}${path ? "." : ""}${key}: Extra inputs are not permitted`);
  }
}

/** What came before and was kept, piece by piece. */
class PromptCache {
  private readonly kept = new Set<string>();

  read(pieces: ReturnType<Api["pieces"]>): Tokens {
    const hash = createHash("sha256");
    let input = 0;
    let cached = 0;
    let marked = 0;
    const prefixes: string[] = [];
    for (const { text, isMarked } of pieces) {
      hash.update(text).update("\0");
      input += tokensOf(text);
      const prefix = hash.copy().digest("hex");
      if (this.kept.has(prefix)) cached = input;
      if (!isMarked) continue;
      prefixes.push(prefix);
      marked = input;
    }
    for (const prefix of prefixes) this.kept.add(prefix);
    return { input, cached, written: Math.max(0, marked - cached) };
  }
}

/** Starts providers behind one loopback port: a free one, unless it is given. */
export async function startProviders(
  apis: readonly Api[],
  { script = busyScript, port = 0 }: { readonly script?: Script; readonly port?: number } = {},
): Promise<readonly FakeProvider[]> {
  const providers = apis.map((api) => new Provider(api, script));
  const server: Server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://localhost");
    const text = await bodyOf(request);
    const provider = providers.find(({ api }) => api.paths.test(pathname));
    const isJson = { "content-type": "application/json" };
    if (provider) {
      const { status, type, said } = provider.respond(pathname, text);
      response.writeHead(status, { "content-type": type });
      for (const piece of said) response.write(piece);
      response.end(() => status === 200 && provider.onAnswer?.());
    } else if (pathname === "/control") {
      const { limit, says = true } = JSON.parse(text);
      for (const each of providers) each.limit = limit ? { tokens: limit, says } : undefined;
      response.writeHead(200, isJson).end("{}");
    } else {
      const known = pathname === "/stats";
      const stats = providers.map(({ name, answered, refusals, overflows, totals }) => ({
        name,
        answered,
        refusals,
        overflows,
        ...totals,
      }));
      response.writeHead(known ? 200 : 404, isJson).end(JSON.stringify(known ? stats : {}));
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const provider of providers) {
    provider.url = at + provider.api.path;
    provider.close = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
  }
  return providers;
}

/** One API on a port of its own. */
export async function startProvider(api: Api): Promise<FakeProvider> {
  return (await startProviders([api]))[0]!;
}

class Provider implements FakeProvider {
  url = "";
  answered = 0;
  lastTokens = 0;
  overflows = 0;
  limit: FakeProvider["limit"];
  onAnswer: FakeProvider["onAnswer"];
  close: FakeProvider["close"] = async () => {};
  readonly totals = { input: 0, cached: 0 };
  readonly refusals: string[] = [];
  private readonly cache = new PromptCache();

  constructor(
    readonly api: Api,
    private readonly script: Script,
  ) {}

  get name(): string {
    return this.api.name;
  }

  respond(
    path: string,
    text: string,
  ): { readonly status: number; readonly type: string; readonly said: readonly string[] } {
    const [, model, verb] = this.api.paths.exec(path)!;
    try {
      const body = JSON.parse(text);
      const isStreamed = body.stream === true || verb === "streamGenerateContent";
      const said = this.answer(body, model ?? body.model, isStreamed);
      if (isStreamed) return { status: 200, type: "text/event-stream", said: eventsOf(this.api.name, said) };
      return { status: 200, type: "application/json", said: [JSON.stringify(said)] };
    } catch (thrown) {
      const refused = thrown instanceof Refused ? thrown : new Refused(`cannot be read: ${thrown}`);
      this.refusals.push(`${this.api.name}: ${refused.message}`);
      return {
        status: 400,
        type: "application/json",
        said: [JSON.stringify(this.api.error(refused))],
      };
    }
  }

  private answer(body: Json, model: string, isStreamed: boolean): Json {
    const { api, limit } = this;
    api.check(body);
    const pieces = api.pieces(body);
    const size = pieces.reduce((sum, piece) => sum + tokensOf(piece.text), 0);
    if (limit && size > limit.tokens) {
      this.overflows++;
      throw api.tooLong(size, limit.says ? limit.tokens : undefined);
    }
    const tokens = this.cache.read(pieces);
    this.lastTokens = size;
    this.totals.input += tokens.input;
    this.totals.cached += tokens.cached;
    const number = ++this.answered;
    const step = this.script({ number, ...api.reads(body) });
    return api.answer({ body, model, number, tokens, isStreamed }, step);
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
