import { readFile } from "node:fs/promises";
import { Command } from "commander";
import type { Capsule, CapsuleBody } from "../../contract/gen/quire/v1/capsule.js";
import { capsuleBodyJson, capsuleJson } from "../../contract/proto-json.js";
import { CliError } from "../cli-error.js";
import { readPages } from "../client/read-pages.js";
import { withClient } from "../client/with-client.js";
import { type ListLook, printList } from "../terminal/list.js";
import { localTime, oneLine, printable } from "../terminal/printable.js";
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
    withClient(flags, async ({ capsules }) => {
      const capsule = (await capsules.putCapsule({ name, body: await readCapsuleBody(file) })).capsule!;
      if (flags.json) return printJson(terminal, capsuleJson.toJson(capsule));
      printLine(terminal, printable(`capsule ${capsule.name}: version ${capsule.version}`));
    }),
  );
}

async function readCapsuleBody(file: string): Promise<CapsuleBody> {
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
    withClient(flags, async ({ capsules }) => {
      const capsule = (await capsules.getCapsule({ name, version: flags.version ?? 0 })).capsule!;
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
    withClient(flags, async ({ capsules }) => {
      const list = await readPages(flags.limit, capsules.listCapsules, (page) => page.capsules);
      printList(terminal, list, look, flags);
    }),
  );
}

const look: ListLook<Capsule> = {
  toJson: capsuleJson.toJson,
  columns: ["NAME", "VERSION", "MODEL", "INTELLIGENCE", "MADE BY", "UPDATED"],
  numbers: ["VERSION", "INTELLIGENCE"],
  row,
  none: "there are no capsules yet; quire capsule put makes one",
};

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
