import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../src/config/config-error.js";
import { isLoopback, loadConfig } from "../../src/config/load-config.js";
import { type Config, type ConfigKey, configOptions } from "../../src/config/options.js";
import { tempFolder } from "../support/temp-folder.js";

type Sources = NonNullable<Parameters<typeof loadConfig>[0]>;

const keys = Object.keys(configOptions) as ConfigKey[];

/** For each setting: a value that differs from its default, as each source would give it, and what comes of it. */
const samples: {
  readonly [Key in ConfigKey]: readonly [flag: unknown, env: string, file: unknown, Config[Key]];
} = {
  sourceAddresses: ["a:1, loopback", "a:1,loopback", ["a:1", "loopback"], ["a:1", "loopback"]],
  listen: ["127.0.0.1:1", "127.0.0.1:1", ["127.0.0.1:1"], ["127.0.0.1:1"]],
  database: ["file:x.db", "file:x.db", "file:x.db", "file:x.db"],
  databasePoolSize: ["7", "7", 7, 7],
  databaseTimeoutMs: ["700", "700", 700, 700],
  tlsCertificate: ["c.pem", "c.pem", "c.pem", "c.pem"],
  tlsKey: ["k.pem", "k.pem", "k.pem", "k.pem"],
  allowInsecure: ["true", "1", true, true],
  maxRequestBytes: ["65536", "65536", 65536, 65536],
  maxBytesInFlight: ["65536", "65536", 65536, 65536],
  maxConcurrentCalls: ["64", "64", 64, 64],
  maxCallsPerConnection: ["100", "100", 100, 100],
  maxConnections: ["20", "20", 20, 20],
  historyCacheBytes: ["0", "0", 0, 0],
  requestRetentionHours: ["48", "48", 48, 48],
  receiptRetentionHours: ["48", "48", 48, 48],
  primeFile: ["p.md", "p.md", "p.md", "p.md"],
  templatesFolder: ["t", "t", "t", "t"],
  catalogueFile: ["m.json", "m.json", "m.json", "m.json"],
  knobTableFile: ["k.json", "k.json", "k.json", "k.json"],
  contextSettingsFile: ["s.json", "s.json", "s.json", "s.json"],
  summarizerOpenaiUrl: ["http://a/v1", "http://a/v1", "http://a/v1", "http://a/v1"],
  summarizerOpenaiModel: ["gpt-x", "gpt-x", "gpt-x", "gpt-x"],
  summarizerOpenaiKey: ["sk-1", "sk-1", "sk-1", "sk-1"],
  summarizerAnthropicUrl: ["https://a", "https://a", "https://a", "https://a"],
  summarizerAnthropicModel: ["claude-x", "claude-x", "claude-x", "claude-x"],
  summarizerAnthropicKey: ["sk-2", "sk-2", "sk-2", "sk-2"],
  summarizerTimeoutMs: ["100", "100", 100, 100],
  summarizerRetries: ["0", "0", 0, 0],
  summarizerMaxInputTokens: ["2000", "2000", 2000, 2000],
  summarizerWindowTokens: ["4000", "4000", 4000, 4000],
  embedder: ["openai", "openai", "openai", "openai"],
  embedderOpenaiUrl: ["http://a/v1", "http://a/v1", "http://a/v1", "http://a/v1"],
  embedderOpenaiModel: ["e-x", "e-x", "e-x", "e-x"],
  embedderOpenaiKey: ["sk-3", "sk-3", "sk-3", "sk-3"],
  embedderOpenaiDimensions: ["256", "256", 256, 256],
  embedderQueryPrefix: ["query: ", "query: ", "query: ", "query: "],
  embedderTextPrefix: ["passage: ", "passage: ", "passage: ", "passage: "],
  embedderBatchSize: ["8", "8", 8, 8],
  embedderTimeoutMs: ["100", "100", 100, 100],
  embedderRetries: ["0", "0", 0, 0],
  vectorCacheBytes: ["1048576", "1048576", 1048576, 1048576],
  watchPollMs: ["10", "10", 10, 10],
  shutdownGraceMs: ["0", "0", 0, 0],
  logLevel: ["debug", "debug", "debug", "debug"],
};

/** The other half of a pair, so that a sample stands alone. */
const companions: { readonly [Key in ConfigKey]?: Sources["flags"] } = {
  tlsCertificate: { tlsKey: "k.pem" },
  tlsKey: { tlsCertificate: "c.pem" },
};

function configFile(content: unknown): string {
  const path = join(tempFolder(), "quire.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

function problems(sources: Sources): readonly string[] {
  try {
    loadConfig({ env: {}, ...sources });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe("load-config: where a setting comes from", () => {
  test("has a default for every setting, and freezes the result", () => {
    const config = loadConfig({ env: {} });
    for (const key of keys) expect(config[key], key).toEqual(configOptions[key].fallback);
    expect(Object.isFrozen(config)).toBe(true);
    expect(config.listen.every(isLoopback)).toBe(true);
  });

  test.each(keys)("%s: can be set by flag, by environment and by file", (key) => {
    const [flag, env, file, value] = samples[key];
    const flags = companions[key] ?? {};
    expect(loadConfig({ env: {}, flags: { ...flags, [key]: flag } })[key]).toEqual(value);
    expect(loadConfig({ env: { [configOptions[key].env]: env }, flags })[key]).toEqual(value);
    expect(loadConfig({ env: {}, file: configFile({ [key]: file }), flags })[key]).toEqual(value);
  });

  test("a flag wins over the environment, the environment over the file, the file over the default", () => {
    const file = configFile({ watchPollMs: 30, shutdownGraceMs: 30, databasePoolSize: 30 });
    const env = { QUIRE_WATCH_POLL_MS: "20", QUIRE_SHUTDOWN_GRACE_MS: "20" };
    const config = loadConfig({ flags: { watchPollMs: "10" }, env, file });
    expect([config.watchPollMs, config.shutdownGraceMs, config.databasePoolSize]).toEqual([10, 20, 30]);
    expect(config.requestRetentionHours).toBe(configOptions.requestRetentionHours.fallback);
  });

  test("the environment names the file unless the caller does", () => {
    const named = configFile({ watchPollMs: 11 });
    const other = configFile({ watchPollMs: 12 });
    expect(loadConfig({ env: { QUIRE_CONFIG: named } }).watchPollMs).toBe(11);
    expect(loadConfig({ env: { QUIRE_CONFIG: named }, file: other }).watchPollMs).toBe(12);
  });

  test("an environment variable that is set to nothing counts as not set", () => {
    expect(loadConfig({ env: { QUIRE_WATCH_POLL_MS: "", QUIRE_CONFIG: "" } }).watchPollMs).toBe(500);
  });

  test("several addresses come with commas between, or as a list in the file", () => {
    const both = ["127.0.0.1:0", "unix:/tmp/q.sock"];
    expect(loadConfig({ env: { QUIRE_LISTEN: both.join(" , ") } }).listen).toEqual(both);
    expect(loadConfig({ env: {}, file: configFile({ listen: both }) }).listen).toEqual(both);
  });
});

describe("load-config: a bad value", () => {
  const bad: readonly (readonly [ConfigKey, unknown, string])[] = [
    ["listen", "nowhere", "must be host:port"],
    ["listen", "127.0.0.1:99999", "port above 65535"],
    ["listen", "127.0.0.1:1,", "must be host:port"],
    ["listen", 5, "must be an address"],
    ["listen", [], "at least one address"],
    ["sourceAddresses", "unix:/tmp/x", "must be host:port"],
    ["sourceAddresses", "http://a:1", "must be host:port"],
    ["sourceAddresses", [], "at least one"],
    ["database", "mysql://x", "must be file:<path> or postgresql://"],
    ["database", "file:", "must be file:<path> or postgresql://"],
    ["databasePoolSize", "1", "at least 2"],
    ["databasePoolSize", "many", "must be a whole number"],
    ["databaseTimeoutMs", "99", "at least 100"],
    ["maxRequestBytes", "1", "at least 65536"],
    ["maxRequestBytes", 1e12, "at most 536870912"],
    ["maxBytesInFlight", "1", "at least 65536"],
    ["maxConcurrentCalls", "1", "at least 2"],
    ["maxCallsPerConnection", "0", "at least 1"],
    ["maxConnections", "0", "at least 1"],
    ["historyCacheBytes", "-1", "at least 0"],
    ["historyCacheBytes", false, "must be a whole number"],
    ["requestRetentionHours", 0, "at least 1"],
    ["requestRetentionHours", "1.5", "must be a whole number"],
    ["requestRetentionHours", 1.5, "must be a whole number"],
    ["receiptRetentionHours", 0, "at least 1"],
    ["summarizerOpenaiUrl", "localhost:8080", "must be http://... or https://..."],
    ["summarizerOpenaiUrl", "http://", "must be http://... or https://..."],
    ["summarizerOpenaiUrl", 5, ""],
    ["summarizerAnthropicUrl", "ftp://a", "must be http://... or https://..."],
    ["summarizerTimeoutMs", "99", "at least 100"],
    ["summarizerRetries", "-1", "at least 0"],
    ["summarizerRetries", "11", "at most 10"],
    ["summarizerMaxInputTokens", "1999", "at least 2000"],
    ["summarizerWindowTokens", "3999", "at least 4000"],
    ["embedder", "word2vec", "must be none, openai or embedded"],
    ["embedderOpenaiUrl", "localhost:8080", "must be http://... or https://..."],
    ["embedderOpenaiModel", 5, ""],
    ["embedderOpenaiDimensions", "-1", "at least 0"],
    ["embedderBatchSize", "0", "at least 1"],
    ["embedderTimeoutMs", "99", "at least 100"],
    ["embedderRetries", "11", "at most 10"],
    ["vectorCacheBytes", "1", "at least 1048576"],
    ["watchPollMs", "9", "at least 10"],
    ["watchPollMs", " ", "must be a whole number"],
    ["shutdownGraceMs", null, "must be a whole number"],
    ["shutdownGraceMs", "1e3", "must be a whole number"],
    ["shutdownGraceMs", [5], "must be a whole number"],
    ["allowInsecure", "yes", "must be true or false"],
    ["allowInsecure", 1, "must be true or false"],
    ["logLevel", "loud", "must be debug, info, warn, error or silent"],
    ["tlsKey", 5, ""],
  ];

  test.each(bad)("%s = %j is refused with the setting, its source and what is wrong", (key, value, words) => {
    const path = configFile({ [key]: value });
    const [fromFile, ...more] = problems({ file: path });
    expect(more).toEqual([]);
    expect(fromFile).toContain(`"${key}" in ${path}`);
    expect(fromFile).toContain(words);
    expect(fromFile).toContain(JSON.stringify(value));

    const [fromFlag] = problems({ flags: { [key]: value } });
    expect(fromFlag).toContain(`${configOptions[key].flag} `);
    expect(fromFlag).toContain(words);
    if (typeof value !== "string") return;
    const [fromEnv] = problems({ env: { [configOptions[key].env]: value } });
    expect(fromEnv).toContain(`${configOptions[key].env} `);
    expect(fromEnv).toContain(words);
  });

  test("every setting but the free texts has a bad value above", () => {
    const covered = new Set(bad.map(([key]) => key));
    const freeTexts = [
      "tlsCertificate",
      "primeFile",
      "templatesFolder",
      "catalogueFile",
      "knobTableFile",
      "contextSettingsFile",
      "summarizerOpenaiModel",
      "summarizerOpenaiKey",
      "summarizerAnthropicModel",
      "summarizerAnthropicKey",
      "embedderOpenaiKey",
      "embedderQueryPrefix",
      "embedderTextPrefix",
    ];
    expect(keys.filter((key) => !covered.has(key))).toEqual(freeTexts);
  });

  test("all problems come in one error, one line each", () => {
    const found = problems({
      env: { QUIRE_LOG_LEVEL: "loud", QUIRE_WATCH_POLL_MS: "x" },
      flags: { listen: "x" },
    });
    expect(found).toHaveLength(3);
    expect(new ConfigError(found).message.split("\n")).toHaveLength(4);
  });

  test("the password of a database address is not shown", () => {
    const [problem] = problems({ flags: { database: "postgre://quire:se/cr@t@db/quire" } });
    expect(problem).toContain("--database");
    expect(problem).toContain("db/quire");
    expect(problem).not.toContain("se/cr@t");
  });
});

describe("load-config: keys", () => {
  const secrets = ["summarizerOpenaiKey", "summarizerAnthropicKey"] as const;

  test.each(secrets)("%s is never shown, whatever it is given as and whatever else is wrong", (key) => {
    for (const value of ["sk-4711", 4711, ["sk-4711"], { key: "sk-4711" }]) {
      const file = configFile({ [key]: value, logLevel: "loud" });
      expect(problems({ file }).join()).not.toContain("4711");
      expect(problems({ flags: { [key]: value, logLevel: "loud" } })).toHaveLength(1);
    }
  });

  test.each(secrets)("%s has no default for a help text to show", (key) => {
    expect(configOptions[key].fallback).toBe("");
  });

  test("the password of an endpoint's address is refused, and not shown", () => {
    const [problem] = problems({ flags: { summarizerOpenaiUrl: "https://me:hunter2@host/v1" } });
    expect(problem).toContain("without a user or a password");
    expect(problem).not.toContain("hunter2");
  });
});

describe("load-config: the file", () => {
  test("a key that is no setting is refused, also one that every object has", () => {
    const path = configFile('{"listenn": "x", "toString": "y", "__proto__": "z"}');
    const found = problems({ file: path });
    for (const key of ["listenn", "toString", "__proto__"]) {
      expect(
        found.some((problem) => problem.startsWith(`"${key}" in ${path} is not a setting`)),
        key,
      ).toBe(true);
    }
    expect(found[0]).toContain("maxRequestBytes");
  });

  test.each([
    ["a file that is not there", undefined, "cannot be read: no such file or directory"],
    ["text that is not JSON", "{listen:", "cannot be used: it is not JSON"],
    ["a list", "[]", "must hold one JSON object"],
    ["null", "null", "must hold one JSON object"],
  ])("%s is refused by name", (_, content, words) => {
    const path = content === undefined ? join(tempFolder(), "missing.json") : configFile(content);
    const [problem] = problems({ file: path });
    expect(problem).toContain(path);
    expect(problem).toContain(words);
  });
});

describe("load-config: contradictions", () => {
  test("a certificate without its key is refused, and a key without its certificate", () => {
    for (const flags of [{ tlsCertificate: "c.pem" }, { tlsKey: "k.pem" }]) {
      expect(problems({ flags })).toEqual([
        "--tls-certificate and --tls-key go together: one is set without the other",
      ]);
    }
  });

  test("an address that other machines reach needs TLS, or the word that plain text is meant", () => {
    for (const listen of ["0.0.0.0:50051", "[::]:50051", "192.168.1.2:1", "quire.example:1"]) {
      const [problem] = problems({ flags: { listen: `127.0.0.1:0,${listen}` } });
      expect(problem, listen).toContain(`--listen ${listen} can be reached from other machines`);
      expect(problem).toContain("--allow-insecure true");
      expect(problems({ flags: { listen, allowInsecure: "true" } })).toEqual([]);
      expect(problems({ flags: { listen, tlsCertificate: "c.pem", tlsKey: "k.pem" } })).toEqual([]);
    }
  });

  test("loopback addresses and unix sockets need neither", () => {
    for (const listen of ["127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1", "unix:/run/quire.sock"]) {
      expect(problems({ flags: { listen } }), listen).toEqual([]);
    }
    for (const address of ["127.0.0.1.example:1", "1127.0.0.1:1", "localhost.example:1"]) {
      expect(isLoopback(address), address).toBe(false);
    }
  });
});
