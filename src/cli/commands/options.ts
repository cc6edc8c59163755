import { type Command, InvalidArgumentError } from "commander";
import { defaultAddress } from "../../config/client-options.js";
import { loadConfig } from "../../config/load-config.js";
import { type Config, type ConfigKey, configOptions } from "../../config/options.js";

export interface ServerFlags {
  readonly address?: string;
  readonly tlsCa?: string;
  readonly json?: boolean;
}

/** The flags of a command that talks to a server. */
export function addServerFlags(command: Command): Command {
  return addAddressFlags(addJsonFlag(command));
}

/** The flags that say where the server is. */
export function addAddressFlags(command: Command): Command {
  return command
    .option(
      "--address <address>",
      `the server: host:port or unix:/path (QUIRE_ADDRESS; default ${defaultAddress})`,
    )
    .option("--tls-ca <file>", "PEM file of the authorities to check a TLS server against (QUIRE_TLS_CA)");
}

export function addJsonFlag(command: Command): Command {
  return command.option("--json", "for scripts: JSON on stdout, nothing else");
}

export type ConfigFlags = Readonly<Partial<Record<ConfigKey, string>>> & { readonly config?: string };

/** The flags of a command that needs the server's settings; all of them, or the ones named. */
export function addConfigFlags(
  command: Command,
  keys = Object.keys(configOptions) as readonly ConfigKey[],
): Command {
  command.option("--config <file>", "JSON file with settings (QUIRE_CONFIG)");
  for (const key of keys) {
    const { flag, placeholder, description, env, fallback } = configOptions[key];
    const shown = Array.isArray(fallback) ? fallback.join(",") : String(fallback);
    command.option(`${flag} <${placeholder}>`, `${description} (${env}${shown ? `; default ${shown}` : ""})`);
  }
  return command;
}

/** The server's settings from flags, environment and file. Throws a ConfigError. */
export function readConfig(flags: ConfigFlags): Config {
  const { config: file, ...rest } = flags;
  const known = Object.fromEntries(Object.entries(rest).filter(([key]) => Object.hasOwn(configOptions, key)));
  return loadConfig({ flags: known, file });
}

/** A flag that takes a whole number of at least 1. */
export function positiveNumber(value: string): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 1)
    throw new InvalidArgumentError("It must be a whole number of at least 1.");
  return number;
}

/** Examples below a command's help. */
export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}\n`;
}
