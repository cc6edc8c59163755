import { readFile } from "node:fs/promises";
import { Command } from "commander";
import { sourceInfoJson, sourceRuleJson } from "../../contract/proto-json.js";
import { CliError } from "../cli-error.js";
import { withClient } from "../client/with-client.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags } from "../commands/options.js";
import { printable } from "../terminal/printable.js";
import { printJson, printLine, type Terminal } from "../terminal/terminal.js";

interface RegisterFlags extends ServerFlags {
  readonly at: string;
  readonly deadlineMs?: number;
  readonly tls?: boolean;
  readonly plugInCa?: string;
  readonly serverName?: string;
}

export function registerCommand(terminal: Terminal): Command {
  const command = new Command("register")
    .description("register a plug-in, which every context asks from then on")
    .argument("<name>", "its name")
    .requiredOption("--at <host:port>", "where the plug-in is; --address is where the server is")
    .option("--deadline-ms <n>", "how long it may take", positiveNumber)
    .option("--tls", "call it over TLS")
    .option(
      "--plug-in-ca <file>",
      "PEM file of the authorities to check its certificate against; means --tls",
    )
    .option("--server-name <name>", "the name that its certificate must have; means --tls")
    .addHelpText(
      "after",
      examples(
        "quire sources register news --at 127.0.0.1:7070 --deadline-ms 500",
        "quire sources register news --at 10.0.0.7:7070 --plug-in-ca ca.pem --server-name news.internal",
      ),
    );
  return addServerFlags(command).action((name: string, flags: RegisterFlags) =>
    withClient(flags, async ({ sources }) => {
      const { at: address, deadlineMs, plugInCa, serverName = "" } = flags;
      const isSecured = flags.tls || plugInCa !== undefined || serverName !== "";
      const tls = isSecured
        ? { caPem: plugInCa === undefined ? "" : await readCa(plugInCa), serverName }
        : undefined;
      const rule = deadlineMs === undefined ? { name } : { name, deadlineMs };
      const { source } = await sources.putSource({ source: { name, endpoint: { address, tls }, rule } });
      if (flags.json) return printJson(terminal, sourceInfoJson.toJson(source!));
      const { healthy, detail, version } = await sources.checkSource({ name });
      const state = healthy ? `it answers${version === "" ? "" : `, version ${version}`}` : `but ${detail}`;
      printLine(terminal, printable(`source ${name} is registered; ${state}`));
    }),
  );
}

async function readCa(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new CliError(`--plug-in-ca: ${file} cannot be read: ${(error as Error).message}`);
  }
}

export function ruleCommand(terminal: Terminal): Command {
  const command = new Command("rule")
    .description("say whether and how a source is part of contexts; what was said of it before is replaced")
    .argument("<name>", "the source's name")
    .argument("<json>", "a SourceRule of the contract, without its name")
    .addHelpText(
      "after",
      examples(
        `quire sources rule procedures '{"maxItems": 5, "priority": 80}'`,
        `quire sources rule inbox '{"roles": ["AGENT_ROLE_MANAGER"]}'`,
        `quire sources rule self_model '{"enabled": true}'`,
      ),
    );
  return addServerFlags(command).action((name: string, json: string, flags: ServerFlags) =>
    withClient(flags, async ({ sources }) => {
      const rule = { ...sourceRuleJson.parse(json, "the rule"), name };
      const { source: before } = await sources.getSource({ name });
      const { endpoint, description = "" } = before?.config ?? {};
      const { source } = await sources.putSource({ source: { name, endpoint, description, rule } });
      if (flags.json) return printJson(terminal, sourceInfoJson.toJson(source!));
      printLine(terminal, printable(`the rule of ${name} is set`));
    }),
  );
}

export function removeCommand(terminal: Terminal): Command {
  const command = new Command("remove")
    .description("take a plug-in away, or what was said of a built-in source with sources rule")
    .argument("<name>", "the source's name")
    .addHelpText("after", examples("quire sources remove news"));
  return addServerFlags(command).action((name: string, flags: ServerFlags) =>
    withClient(flags, async ({ sources }) => {
      await sources.deleteSource({ name });
      if (flags.json) return printJson(terminal, {});
      printLine(terminal, printable(`${name} is removed`));
    }),
  );
}
