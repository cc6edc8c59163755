import { readFile } from "node:fs/promises";
import { Command } from "commander";
import type { Capsule, CapsuleBody } from "../../contract/gen/quire/v1/capsule.js";
import { CliError } from "../cli-error.js";
import { withClient } from "../client/calls.js";
import { Capsules } from "../client/capsules.js";
import { capsuleBodyJson, capsuleJson } from "../proto-json.js";
import { localTime, oneLine, printable } from "../terminal/printable.js";
import { table } from "../terminal/table.js";
import { printJson, printLine, say, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags } from "./options.js";

export function capsuleCommand(terminal: Terminal): Command {
  return new Command("capsule")
    .description("keep agents' definitions, version by version")
    .addCommand(putCommand(terminal))
    .addCommand(showCommand(terminal))
    .addCommand(listCommand(terminal))
    .addHelpText("after", examples("quire capsule put helper helper.json", "quire capsule show helper"));
}

function putCommand(terminal: Terminal): Command {
  const command = new Command("put")
    .description("make a new version of a capsule; the first one makes the capsule")
    .argument("<name>", "its name")
    .argument("<file>", "JSON file with a CapsuleBody of the contract")
    .addHelpText(
      "after",
      `${examples("quire capsule put helper helper.json")}
The least that the file must hold: {"persona": {"corePrompt": "You are a helper."}}
`,
    );
  return addServerFlags(command).action((name: string, file: string, flags: ServerFlags) =>
    withClient(Capsules, flags, async (capsules) => {
      const capsule = await capsules.put({ requestId: "", name, body: await readBody(file) });
      if (flags.json) return printJson(terminal, capsuleJson.toJson(capsule));
      printLine(terminal, printable(`capsule ${capsule.name}: version ${capsule.version}`));
    }),
  );
}

async function readBody(file: string): Promise<CapsuleBody> {
  let json: unknown;
  try {
    json = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new CliError(`${file} cannot be read as JSON: ${(error as Error).message}`);
  }
  return capsuleBodyJson.fromJson(json);
}

interface ShowFlags extends ServerFlags {
  readonly version?: number;
}

function showCommand(terminal: Terminal): Command {
  const command = new Command("show")
    .description("show one version of a capsule; its body goes to stdout, as capsule put takes it")
    .argument("<name>", "its name")
    .option("--version <n>", "which version (default: the latest)", positiveNumber)
    .addHelpText(
      "after",
      examples("quire capsule show helper --version 2", "quire capsule show helper > helper.json"),
    );
  return addServerFlags(command).action((name: string, flags: ShowFlags) =>
    withClient(Capsules, flags, async (capsules) => {
      const capsule = await capsules.get({ name, version: flags.version ?? 0 });
      if (flags.json) return printJson(terminal, capsuleJson.toJson(capsule));
      const made = `${causeOf(capsule)} at ${localTime(capsule.createTime)}`;
      say(terminal, printable(`capsule ${capsule.name}, version ${capsule.version}, ${made}`));
      printJson(terminal, capsuleBodyJson.toJson(capsule.body!), 2);
    }),
  );
}

interface ListFlags extends ServerFlags {
  readonly limit: number;
}

function listCommand(terminal: Terminal): Command {
  const command = new Command("list")
    .description("list capsules, by name")
    .option("--limit <n>", "how many at most", positiveNumber, 50)
    .addHelpText("after", examples("quire capsule list", "quire capsule list --json | jq -r .name"));
  return addServerFlags(command).action((flags: ListFlags) =>
    withClient(Capsules, flags, async (capsules) => {
      const { found, more } = await readCapsules(capsules, flags.limit);
      if (flags.json) {
        for (const capsule of found) printJson(terminal, capsuleJson.toJson(capsule));
        return;
      }
      if (found.length === 0) return say(terminal, "there are no capsules yet; quire capsule put makes one");
      printLine(terminal, table(columns, found.map(row), ["VERSION", "INTELLIGENCE"]));
      if (more) say(terminal, "there are more: --limit <n>");
    }),
  );
}

async function readCapsules(capsules: Capsules, limit: number) {
  const found: Capsule[] = [];
  let pageToken = "";
  do {
    const page = await capsules.list({ pageSize: Math.min(limit - found.length, 1_000), pageToken });
    found.push(...page.capsules);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && found.length < limit);
  return { found, more: pageToken !== "" };
}

const columns = ["NAME", "VERSION", "MODEL", "INTELLIGENCE", "MADE BY", "UPDATED"];

function row(capsule: Capsule): readonly string[] {
  const persona = capsule.body?.persona;
  return [
    oneLine(capsule.name, 60),
    String(capsule.version),
    oneLine(persona?.model?.model ?? "", 40) || "-",
    String(persona?.knobs?.intelligenceLevel ?? "-"),
    causeOf(capsule),
    localTime(capsule.createTime),
  ];
}

function causeOf({ cause }: Capsule): string {
  return cause.replace("CAPSULE_CAUSE_", "").toLowerCase();
}
