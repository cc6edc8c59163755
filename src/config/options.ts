import { z } from "zod";

const megabytes = 1024 * 1024;

/** One setting: where it can come from, what it may be, and what it is for. */
export interface ConfigOption<T> {
  readonly env: string;
  readonly flag: string;
  readonly placeholder: string;
  readonly description: string;
  readonly fallback: T;
  readonly parse: z.ZodType<T>;
}

function option<T>(definition: ConfigOption<T>): ConfigOption<T> {
  return definition;
}

function wholeNumber(min: number, max: number) {
  const error = "must be a whole number";
  return z
    .union(
      [
        z.number(),
        z
          .string()
          .regex(/^-?\d+$/)
          .transform(Number),
      ],
      { error },
    )
    .pipe(
      z
        .number()
        .int({ error })
        .min(min, { error: `must be at least ${min}` })
        .max(max, { error: `must be at most ${max}` }),
    );
}

const yesOrNo = z
  .union([z.boolean(), z.enum(["true", "false", "1", "0"])], { error: "must be true or false" })
  .transform((value) => value === true || value === "true" || value === "1");

const address = z
  .string()
  .regex(/^(unix:.+|.+:\d{1,5})$/, { error: "must be host:port, or unix:/path/to/socket" })
  .refine((value) => value.startsWith("unix:") || Number(value.slice(value.lastIndexOf(":") + 1)) <= 65_535, {
    error: "has a port above 65535",
  });

const addresses = z
  .union(
    [z.string().transform((value) => value.split(",").map((entry) => entry.trim())), z.array(z.string())],
    {
      error: "must be an address, or several with commas between",
    },
  )
  .pipe(z.array(address).min(1, { error: "must name at least one address" }));

const webAddress = z
  .string()
  .refine((value) => value === "" || (URL.canParse(value) && /^https?:\/\/[^@]+$/.test(value)), {
    error: "must be http://... or https://..., without a user or a password",
  });

/** Takes everything, also what is no text: a message about a bad value shows the value, and a key is never shown. */
const secret = z.unknown().transform((value) => (typeof value === "string" ? value : JSON.stringify(value)));

/** Every setting of the server, in the order that help texts show them. */
export const configOptions = {
  listen: option<readonly string[]>({
    env: "QUIRE_LISTEN",
    flag: "--listen",
    placeholder: "address",
    description: "where to serve: host:port or unix:/path, several with commas between",
    fallback: ["127.0.0.1:50051"],
    parse: addresses,
  }),
  database: option<string>({
    env: "QUIRE_DATABASE",
    flag: "--database",
    placeholder: "url",
    description: "file:<path> for the embedded database, or postgresql://...",
    fallback: "file:data/quire.db",
    parse: z
      .string()
      .regex(/^(file:.+|postgres(ql)?:\/\/.+)$/, { error: "must be file:<path> or postgresql://..." }),
  }),
  databasePoolSize: option<number>({
    env: "QUIRE_DATABASE_POOL_SIZE",
    flag: "--database-pool-size",
    placeholder: "n",
    description: "connections to PostgreSQL",
    fallback: 10,
    parse: wholeNumber(2, 500),
  }),
  databaseTimeoutMs: option<number>({
    env: "QUIRE_DATABASE_TIMEOUT_MS",
    flag: "--database-timeout-ms",
    placeholder: "ms",
    description: "how long PostgreSQL may take to connect, or to answer a statement",
    fallback: 30_000,
    parse: wholeNumber(100, 600_000),
  }),
  tlsCertificate: option<string>({
    env: "QUIRE_TLS_CERTIFICATE",
    flag: "--tls-certificate",
    placeholder: "file",
    description: "PEM file of the server's certificate chain",
    fallback: "",
    parse: z.string(),
  }),
  tlsKey: option<string>({
    env: "QUIRE_TLS_KEY",
    flag: "--tls-key",
    placeholder: "file",
    description: "PEM file of the certificate's private key",
    fallback: "",
    parse: z.string(),
  }),
  allowInsecure: option<boolean>({
    env: "QUIRE_ALLOW_INSECURE",
    flag: "--allow-insecure",
    placeholder: "true|false",
    description: "serve in plain text beyond loopback, to anyone who can connect",
    fallback: false,
    parse: yesOrNo,
  }),
  maxRequestBytes: option<number>({
    env: "QUIRE_MAX_REQUEST_BYTES",
    flag: "--max-request-bytes",
    placeholder: "n",
    description: "largest request that is read",
    fallback: 32 * megabytes,
    parse: wholeNumber(64 * 1024, 512 * megabytes),
  }),
  maxBytesInFlight: option<number>({
    env: "QUIRE_MAX_BYTES_IN_FLIGHT",
    flag: "--max-bytes-in-flight",
    placeholder: "n",
    description: "requests in memory at once, and as much of answers that wait to be read",
    fallback: 128 * megabytes,
    parse: wholeNumber(64 * 1024, 64 * 1024 * megabytes),
  }),
  maxConcurrentCalls: option<number>({
    env: "QUIRE_MAX_CONCURRENT_CALLS",
    flag: "--max-concurrent-calls",
    placeholder: "n",
    description: "calls at work at once, of one connection half as many; sixteen times as many may wait",
    fallback: 256,
    parse: wholeNumber(2, 1_000_000),
  }),
  maxCallsPerConnection: option<number>({
    env: "QUIRE_MAX_CALLS_PER_CONNECTION",
    flag: "--max-calls-per-connection",
    placeholder: "n",
    description: "calls that a connection may have open at once, watches included",
    fallback: 1_000,
    parse: wholeNumber(1, 1_000_000),
  }),
  maxConnections: option<number>({
    env: "QUIRE_MAX_CONNECTIONS",
    flag: "--max-connections",
    placeholder: "n",
    description: "connections on each address",
    fallback: 4_096,
    parse: wholeNumber(1, 1_000_000),
  }),
  historyCacheBytes: option<number>({
    env: "QUIRE_HISTORY_CACHE_BYTES",
    flag: "--history-cache-bytes",
    placeholder: "n",
    description: "memory for finished turns; 0 turns the cache off",
    fallback: 64 * megabytes,
    parse: wholeNumber(0, 64 * 1024 * megabytes),
  }),
  requestRetentionHours: option<number>({
    env: "QUIRE_REQUEST_RETENTION_HOURS",
    flag: "--request-retention-hours",
    placeholder: "n",
    description: "how long answers are kept for requests that come again",
    fallback: 24,
    parse: wholeNumber(1, 24 * 365),
  }),
  receiptRetentionHours: option<number>({
    env: "QUIRE_RECEIPT_RETENTION_HOURS",
    flag: "--receipt-retention-hours",
    placeholder: "n",
    description: "how long receipts are kept, and contexts can be replayed",
    fallback: 24 * 7,
    parse: wholeNumber(1, 24 * 3650),
  }),
  primeFile: option<string>({
    env: "QUIRE_PRIME_FILE",
    flag: "--prime-file",
    placeholder: "file",
    description: "the operator's text on top of every system prompt; a change applies at once",
    fallback: "data/prime.md",
    parse: z.string(),
  }),
  templatesFolder: option<string>({
    env: "QUIRE_TEMPLATES_FOLDER",
    flag: "--templates-folder",
    placeholder: "folder",
    description:
      "files that replace the words models read: worker.md, current-time.md, ...; a change applies at once",
    fallback: "",
    parse: z.string(),
  }),
  sourceAddresses: option<readonly string[]>({
    env: "QUIRE_SOURCE_ADDRESSES",
    flag: "--source-addresses",
    placeholder: "addresses",
    description:
      "where plug-ins may be: host:port, host:* or network:port (10.0.0.0/8:*), several with commas between; loopback; none",
    fallback: ["auto"],
    parse: z
      .union(
        [z.string().transform((value) => value.split(",").map((entry) => entry.trim())), z.array(z.string())],
        {
          error: "must be an address, or several with commas between",
        },
      )
      .pipe(
        z
          .array(
            z
              .string()
              .regex(/^(auto|none|loopback|\[[0-9A-Fa-f:./]+\]:(\d{1,5}|\*)|[^:[\]\s]+:(\d{1,5}|\*))$/, {
                error: "must be host:port, host:*, network:port, loopback or none",
              }),
          )
          .min(1, { error: "must name at least one, or none" }),
      ),
  }),
  catalogueFile: option<string>({
    env: "QUIRE_CATALOGUE_FILE",
    flag: "--catalogue-file",
    placeholder: "file",
    description: "JSON file of models that extend the catalogue",
    fallback: "",
    parse: z.string(),
  }),
  knobTableFile: option<string>({
    env: "QUIRE_KNOB_TABLE_FILE",
    flag: "--knob-table-file",
    placeholder: "file",
    description: "JSON file that replaces the table of what knobs come to",
    fallback: "",
    parse: z.string(),
  }),
  contextSettingsFile: option<string>({
    env: "QUIRE_CONTEXT_SETTINGS_FILE",
    flag: "--context-settings-file",
    placeholder: "file",
    description: "JSON file of the server's own context settings, which capsules and requests override",
    fallback: "",
    parse: z.string(),
  }),
  summarizerOpenaiUrl: option<string>({
    env: "QUIRE_SUMMARIZER_OPENAI_URL",
    flag: "--summarizer-openai-url",
    placeholder: "url",
    description: "where OpenAI's chat completions are served; empty for OpenAI itself",
    fallback: "",
    parse: webAddress,
  }),
  summarizerOpenaiModel: option<string>({
    env: "QUIRE_SUMMARIZER_OPENAI_MODEL",
    flag: "--summarizer-openai-model",
    placeholder: "model",
    description: "model for summaries over OpenAI's protocol; empty for no such summarizer",
    fallback: "",
    parse: z.string(),
  }),
  summarizerOpenaiKey: option<string>({
    env: "QUIRE_SUMMARIZER_OPENAI_KEY",
    flag: "--summarizer-openai-key",
    placeholder: "key",
    description: "its API key; better in the environment, which other users cannot see",
    fallback: "",
    parse: secret,
  }),
  summarizerAnthropicUrl: option<string>({
    env: "QUIRE_SUMMARIZER_ANTHROPIC_URL",
    flag: "--summarizer-anthropic-url",
    placeholder: "url",
    description: "where Anthropic's messages are served; empty for Anthropic itself",
    fallback: "",
    parse: webAddress,
  }),
  summarizerAnthropicModel: option<string>({
    env: "QUIRE_SUMMARIZER_ANTHROPIC_MODEL",
    flag: "--summarizer-anthropic-model",
    placeholder: "model",
    description: "model for summaries over Anthropic's protocol; empty for no such summarizer",
    fallback: "",
    parse: z.string(),
  }),
  summarizerAnthropicKey: option<string>({
    env: "QUIRE_SUMMARIZER_ANTHROPIC_KEY",
    flag: "--summarizer-anthropic-key",
    placeholder: "key",
    description: "its API key; better in the environment, which other users cannot see",
    fallback: "",
    parse: secret,
  }),
  summarizerTimeoutMs: option<number>({
    env: "QUIRE_SUMMARIZER_TIMEOUT_MS",
    flag: "--summarizer-timeout-ms",
    placeholder: "ms",
    description: "how long one attempt of a call for a summary may take",
    fallback: 30_000,
    parse: wholeNumber(100, 600_000),
  }),
  summarizerRetries: option<number>({
    env: "QUIRE_SUMMARIZER_RETRIES",
    flag: "--summarizer-retries",
    placeholder: "n",
    description: "how often such a call is made again after a passing failure",
    fallback: 2,
    parse: wholeNumber(0, 10),
  }),
  summarizerMaxInputTokens: option<number>({
    env: "QUIRE_SUMMARIZER_MAX_INPUT_TOKENS",
    flag: "--summarizer-max-input-tokens",
    placeholder: "n",
    description: "what one such call may send; longer conversations take several calls",
    fallback: 100_000,
    parse: wholeNumber(2_000, 10_000_000),
  }),
  summarizerWindowTokens: option<number>({
    env: "QUIRE_SUMMARIZER_WINDOW_TOKENS",
    flag: "--summarizer-window-tokens",
    placeholder: "n",
    description: "the window of the summarizers' models, for prompt and answer",
    fallback: 128_000,
    parse: wholeNumber(4_000, 10_000_000),
  }),
  embedder: option<"none" | "openai" | "embedded">({
    env: "QUIRE_EMBEDDER",
    flag: "--embedder",
    placeholder: "name",
    description:
      "what makes vectors for search: openai (an endpoint), embedded (a package that you install), or none",
    fallback: "none",
    parse: z.enum(["none", "openai", "embedded"], { error: "must be none, openai or embedded" }),
  }),
  embedderOpenaiUrl: option<string>({
    env: "QUIRE_EMBEDDER_OPENAI_URL",
    flag: "--embedder-openai-url",
    placeholder: "url",
    description: "where OpenAI's embeddings are served; empty for OpenAI itself",
    fallback: "",
    parse: webAddress,
  }),
  embedderOpenaiModel: option<string>({
    env: "QUIRE_EMBEDDER_OPENAI_MODEL",
    flag: "--embedder-openai-model",
    placeholder: "model",
    description: "model for vectors over OpenAI's protocol",
    fallback: "text-embedding-3-small",
    parse: z.string().min(1, { error: "must not be empty" }),
  }),
  embedderOpenaiKey: option<string>({
    env: "QUIRE_EMBEDDER_OPENAI_KEY",
    flag: "--embedder-openai-key",
    placeholder: "key",
    description: "its API key; better in the environment, which other users cannot see",
    fallback: "",
    parse: secret,
  }),
  embedderOpenaiDimensions: option<number>({
    env: "QUIRE_EMBEDDER_OPENAI_DIMENSIONS",
    flag: "--embedder-openai-dimensions",
    placeholder: "n",
    description: "dimensions that the model is asked for; 0 for as many as it has",
    fallback: 0,
    parse: wholeNumber(0, 16_000),
  }),
  embedderQueryPrefix: option<string>({
    env: "QUIRE_EMBEDDER_QUERY_PREFIX",
    flag: "--embedder-query-prefix",
    placeholder: "text",
    description: 'what the endpoint\'s model wants before a question, as in "query: "',
    fallback: "",
    parse: z.string(),
  }),
  embedderTextPrefix: option<string>({
    env: "QUIRE_EMBEDDER_TEXT_PREFIX",
    flag: "--embedder-text-prefix",
    placeholder: "text",
    description: 'what it wants before a text, as in "passage: "',
    fallback: "",
    parse: z.string(),
  }),
  embedderBatchSize: option<number>({
    env: "QUIRE_EMBEDDER_BATCH_SIZE",
    flag: "--embedder-batch-size",
    placeholder: "n",
    description: "texts in one call of the endpoint",
    fallback: 64,
    parse: wholeNumber(1, 2_048),
  }),
  embedderTimeoutMs: option<number>({
    env: "QUIRE_EMBEDDER_TIMEOUT_MS",
    flag: "--embedder-timeout-ms",
    placeholder: "ms",
    description: "how long one attempt of such a call may take",
    fallback: 15_000,
    parse: wholeNumber(100, 600_000),
  }),
  embedderRetries: option<number>({
    env: "QUIRE_EMBEDDER_RETRIES",
    flag: "--embedder-retries",
    placeholder: "n",
    description: "how often such a call is made again at once; later it is tried again in any case",
    fallback: 1,
    parse: wholeNumber(0, 10),
  }),
  vectorCacheBytes: option<number>({
    env: "QUIRE_VECTOR_CACHE_BYTES",
    flag: "--vector-cache-bytes",
    placeholder: "n",
    description: "memory for vectors that are searched; what does not fit is read for each search",
    fallback: 256 * megabytes,
    parse: wholeNumber(megabytes, 64 * 1024 * megabytes),
  }),
  watchPollMs: option<number>({
    env: "QUIRE_WATCH_POLL_MS",
    flag: "--watch-poll-ms",
    placeholder: "ms",
    description: "how often watched sessions are looked at for what other servers of the same database wrote",
    fallback: 500,
    parse: wholeNumber(10, 60_000),
  }),
  shutdownGraceMs: option<number>({
    env: "QUIRE_SHUTDOWN_GRACE_MS",
    flag: "--shutdown-grace-ms",
    placeholder: "ms",
    description: "how long calls may go on when the server is told to stop",
    fallback: 10_000,
    parse: wholeNumber(0, 600_000),
  }),
  logLevel: option<"debug" | "info" | "warn" | "error" | "silent">({
    env: "QUIRE_LOG_LEVEL",
    flag: "--log-level",
    placeholder: "level",
    description: "debug, info, warn, error or silent",
    fallback: "info",
    parse: z.enum(["debug", "info", "warn", "error", "silent"], {
      error: "must be debug, info, warn, error or silent",
    }),
  }),
} as const;

export type ConfigKey = keyof typeof configOptions;

/** The server's settings, validated and frozen. */
export type Config = {
  readonly [Key in ConfigKey]: (typeof configOptions)[Key] extends ConfigOption<infer T> ? T : never;
};

/** The settings that are about the network before the engine. */
export type NetworkSetting =
  | "listen"
  | "tlsCertificate"
  | "tlsKey"
  | "allowInsecure"
  | "maxRequestBytes"
  | "maxBytesInFlight"
  | "maxConcurrentCalls"
  | "maxCallsPerConnection"
  | "maxConnections"
  | "shutdownGraceMs";
