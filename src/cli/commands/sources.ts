import { readFile } from "node:fs/promises";
import { Command } from "commander";
import type { SourceInfo } from "../../contract/gen/quire/v1/source_service.js";
import { sourceInfoJson, sourceItemJson } from "../../contract/proto-json.js";
import { word } from "../assemble/lines.js";
import { CliError } from "../cli-error.js";
import { readPages } from "../client/read-pages.js";
import { withClient } from "../client/with-client.js";
import { type ListLook, printList } from "../terminal/list.js";
import { oneLine, printable } from "../terminal/printable.js";
import { printJson, printLine, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags } from "./options.js";

export function sourcesCommand(terminal: Terminal): Command {
  const command = new Command("sources")
    .description("what contexts know besides their conversation: list sources with their state")
    .addCommand(putCommand(terminal))
    .addCommand(showCommand(terminal))
    .addCommand(registerCommand(terminal))
    .addHelpText(
      "after",
      examples(
        "quire sources",
        "quire sources put rules.json --agent helper",
        "quire sources show --agent helper > known.json",
        "quire sources register news --at 127.0.0.1:7070",
      ),
    );
  return addServerFlags(command).action((flags: ServerFlags) =>
    withClient(flags, async ({ sources }) => {
      const { sources: found } = await sources.listSources({});
      printList(terminal, { found, more: false }, look, flags);
    }),
  );
}

interface AgentFlags extends ServerFlags {
  readonly agent?: string;
}

/** As many as one call takes. */
const itemsPerCall = 500;

function putCommand(terminal: Terminal): Command {
  const command = new Command("put")
    .description("write what the built-in sources know")
    .argument("<file>", "JSON file with a list of SourceItem of the contract")
    .option("--agent <capsule>", "whose agent knows it (default: every agent)")
    .addHelpText(
      "after",
      `${examples("quire sources put rules.json --agent helper")}
The file may hold: [{"rule": {"text": "Verify prices before stating them"}}, {"fact": {"entity": "gold", "text": "a metal"}}]
`,
    );
  return addServerFlags(command).action((file: string, flags: AgentFlags) =>
    withClient(flags, async ({ sources }) => {
      const items = (await readList(file)).map((item) => sourceItemJson.fromJson(item));
      const agent = flags.agent ?? "";
      const keys: string[] = [];
      for (let at = 0; at < items.length; at += itemsPerCall)
        keys.push(...(await sources.putItems({ agent, items: items.slice(at, at + itemsPerCall) })).keys);
      if (flags.json) return printJson(terminal, { keys });
      printLine(terminal, `${keys.length} items written`);
    }),
  );
}

async function readList(file: string): Promise<readonly unknown[]> {
  let json: unknown;
  try {
    json = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new CliError(`${file} cannot be read as JSON: ${(error as Error).message}`);
  }
  if (!Array.isArray(json)) throw new CliError(`${file} must hold a list of items`);
  return json;
}

function showCommand(terminal: Terminal): Command {
  const command = new Command("show")
    .description("show what the built-in sources know, as sources put takes it")
    .option("--agent <capsule>", "whose agent knows it (default: what every agent knows)")
    .addHelpText("after", examples("quire sources show --agent helper > known.json"));
  return addServerFlags(command).action((flags: AgentFlags) =>
    withClient(flags, async ({ sources }) => {
      const agent = flags.agent ?? "";
      const { found: items } = await readPages(
        Number.POSITIVE_INFINITY,
        (page) => sources.listItems({ agent, ...page }),
        (page) => page.items,
      );
      printJson(
        terminal,
        items.map((item) => sourceItemJson.toJson({ ...item, updateTime: undefined })),
        2,
      );
    }),
  );
}

interface RegisterFlags extends ServerFlags {
  readonly at: string;
  readonly deadlineMs?: number;
}

function registerCommand(terminal: Terminal): Command {
  const command = new Command("register")
    .description("register a plug-in, which every context asks from then on")
    .argument("<name>", "its name")
    .requiredOption("--at <host:port>", "where the plug-in is; --address is where the server is")
    .option("--deadline-ms <n>", "how long it may take", positiveNumber)
    .addHelpText("after", examples("quire sources register news --at 127.0.0.1:7070 --deadline-ms 500"));
  return addServerFlags(command).action(
    (name: string, { at: address, deadlineMs, ...flags }: RegisterFlags) =>
      withClient(flags, async ({ sources }) => {
        const rule = deadlineMs === undefined ? { name } : { name, deadlineMs };
        const source = (await sources.putSource({ source: { name, endpoint: { address }, rule } })).source!;
        if (flags.json) return printJson(terminal, sourceInfoJson.toJson(source));
        const { healthy, detail, version } = await sources.checkSource({ name });
        const state = healthy ? `it answers${version === "" ? "" : `, version ${version}`}` : `but ${detail}`;
        printLine(terminal, printable(`source ${name} is registered; ${state}`));
      }),
  );
}

const look: ListLook<SourceInfo> = {
  toJson: sourceInfoJson.toJson,
  columns: ["SOURCE", "KIND", "POSITION", "STATE", "LAST MS", "CALLS", "FAILURES", "DETAIL"],
  numbers: ["LAST MS", "CALLS", "FAILURES"],
  row,
  none: "there are no sources",
};

function row({ name, builtIn, rule, status, config }: SourceInfo): readonly string[] {
  const isAsked = (status?.calls ?? 0) > 0;
  const state = status?.resting
    ? "resting"
    : isAsked
      ? word(status!.lastState, "SOURCE_STATE_")
      : "not asked";
  return [
    oneLine(name, 40),
    builtIn ? "built in" : "plug-in",
    word(rule!.position, "SOURCE_POSITION_"),
    rule!.enabled === false ? "off" : state,
    isAsked ? (status!.lastElapsedUs / 1_000).toFixed(1) : "-",
    String(status?.calls ?? 0),
    String(status?.failures ?? 0),
    oneLine(status?.lastDetail || config?.endpoint?.address || "", 60) || "-",
  ];
}
