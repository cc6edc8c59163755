import { ConfigError } from "./config-error.js";
import { type Config, type ConfigKey, configOptions } from "./options.js";
import { parseSettingFile } from "./setting-file.js";

interface ConfigSources {
  /** Given on the command line; the strongest. */
  readonly flags?: Readonly<Partial<Record<ConfigKey, unknown>>>;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** A JSON file; what it leaves out has its default. `QUIRE_CONFIG` names one, too. */
  readonly file?: string | undefined;
}

const keys = Object.keys(configOptions) as ConfigKey[];

/** Flags before environment before file before defaults. Throws one ConfigError with every problem in it. */
export function loadConfig(sources: ConfigSources = {}): Config {
  const env = sources.env ?? process.env;
  const problems: string[] = [];
  const filePath = sources.file ?? env.QUIRE_CONFIG;
  const origin = sources.file === undefined ? "QUIRE_CONFIG" : "--config";
  const fromFile = filePath ? readConfigFile(origin, filePath, problems) : {};
  const values: Partial<Record<ConfigKey, unknown>> = {};
  for (const key of keys) {
    const setting = configOptions[key];
    const [raw, origin] = firstGiven([
      [sources.flags?.[key], setting.flag],
      [env[setting.env] || undefined, setting.env],
      [fromFile[key], `"${key}" in ${filePath}`],
    ]);
    if (raw === undefined) {
      values[key] = setting.fallback;
      continue;
    }
    const result = setting.parse.safeParse(raw);
    if (result.success) values[key] = result.data;
    else
      problems.push(`${origin} ${result.error.issues[0]?.message ?? "is not valid"} (it is ${shown(raw)})`);
  }
  const config = values as Config;
  if (problems.length === 0) problems.push(...contradictions(config));
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}

/** A value for a message, without the password that a database address may hold. */
function shown(value: unknown): string {
  return JSON.stringify(value).replace(/:\/\/[^\s"]*@/g, "://***@");
}

function firstGiven(candidates: readonly (readonly [unknown, string])[]): readonly [unknown, string] {
  return candidates.find(([value]) => value !== undefined) ?? [undefined, ""];
}

function readConfigFile(origin: string, path: string, problems: string[]): Partial<Record<string, unknown>> {
  let parsed: unknown;
  try {
    parsed = parseSettingFile(origin, path, JSON.parse);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
    return {};
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    problems.push(`${origin} ${path} must hold one JSON object`);
    return {};
  }
  for (const key of Object.keys(parsed)) {
    if (!Object.hasOwn(configOptions, key))
      problems.push(`"${key}" in ${path} is not a setting; there are: ${keys.join(", ")}`);
  }
  return parsed as Partial<Record<string, unknown>>;
}

function contradictions(config: Config): string[] {
  const problems: string[] = [];
  if (Boolean(config.tlsCertificate) !== Boolean(config.tlsKey)) {
    problems.push("--tls-certificate and --tls-key go together: one is set without the other");
  }
  const open = config.listen.filter((address) => !isLoopback(address));
  if (open.length > 0 && !config.tlsCertificate && !config.allowInsecure) {
    problems.push(
      `--listen ${open.join(",")} can be reached from other machines: set --tls-certificate and --tls-key, or --allow-insecure true`,
    );
  }
  return problems;
}

/** Unix sockets count as loopback: the file's permissions guard them. */
export function isLoopback(address: string): boolean {
  if (address.startsWith("unix:")) return true;
  const host = address.slice(0, address.lastIndexOf(":")).replace(/^\[|\]$/g, "");
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
