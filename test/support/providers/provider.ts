import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * A stand-in for a model provider: an HTTP server that refuses what its provider refuses, and answers by a script, always the same. It
 * knows nothing of Quire, and needs nothing but Node.
 */
export interface FakeProvider {
  readonly name: string;
  /** Where bodies are posted. */
  readonly url: string;
  /** Every request it answered with an error, in words. */
  readonly refusals: readonly string[];
  /** How many requests it answered. */
  readonly answered: number;
  /** What the last one came to. */
  readonly lastTokens: number;
  /** Contexts of more tokens than this are refused as too long; `says` is whether the error names the number. */
  limit: { tokens: number; says: boolean } | undefined;
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
  readonly path: string;
  /** Throws `Refused` for a body that the provider would refuse. */
  check(body: Json): void;
  /** The body as its cache reads it: from the first piece on, with a mark where it may keep what came before. */
  pieces(body: Json): readonly { readonly text: string; readonly isMarked: boolean }[];
  /** What the model says to a body, with what the tokens were. */
  answer(body: Json, number: number, tokens: Tokens): Json;
  tooLong(tokens: number, limit: number | undefined): Refused;
  error(refused: Refused): Json;
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

/** Starts a provider on a free loopback port. */
export async function startProvider(api: Api): Promise<FakeProvider> {
  const refusals: string[] = [];
  const cache = new PromptCache();
  let answered = 0;
  let lastTokens = 0;
  const fake = { limit: undefined as FakeProvider["limit"] };
  const answer = (text: string): Json => {
    const body = JSON.parse(text);
    api.check(body);
    const pieces = api.pieces(body);
    const size = pieces.reduce((sum, piece) => sum + tokensOf(piece.text), 0);
    const { limit } = fake;
    if (limit && size > limit.tokens) throw api.tooLong(size, limit.says ? limit.tokens : undefined);
    const tokens = cache.read(pieces);
    lastTokens = size;
    answered++;
    return api.answer(body, answered, tokens);
  };
  const server: Server = createServer(async (request, response) => {
    let status = 200;
    let said: Json;
    try {
      said = answer(await bodyOf(request));
    } catch (thrown) {
      status = 400;
      const refused = thrown instanceof Refused ? thrown : new Refused(`cannot be read: ${thrown}`);
      refusals.push(`${api.name}: ${refused.message}`);
      said = api.error(refused);
    }
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(said));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    name: api.name,
    url: `http://127.0.0.1:${port}${api.path}`,
    refusals,
    get answered() {
      return answered;
    },
    get lastTokens() {
      return lastTokens;
    },
    get limit() {
      return fake.limit;
    },
    set limit(limit) {
      fake.limit = limit;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
