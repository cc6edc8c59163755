import { Command } from "commander";
import type { SourceInfo } from "../../contract/gen/quire/v1/source_service.js";
import { sourceInfoJson } from "../../contract/proto-json.js";
import { word } from "../assemble/lines.js";
import { withClient } from "../client/with-client.js";
import { deleteCommand, putCommand, showCommand } from "../sources/knowledge-commands.js";
import { registerCommand, removeCommand, ruleCommand } from "../sources/source-commands.js";
import { type ListLook, printList } from "../terminal/list.js";
import { oneLine } from "../terminal/printable.js";
import type { Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, type ServerFlags } from "./options.js";

export function sourcesCommand(terminal: Terminal): Command {
  const command = new Command("sources")
    // What follows the name of a command below is for that command: both have --address.
    .enablePositionalOptions()
    .description("what contexts know besides their conversation: list sources with their state")
    .addCommand(putCommand(terminal))
    .addCommand(showCommand(terminal))
    .addCommand(deleteCommand(terminal))
    .addCommand(ruleCommand(terminal))
    .addCommand(registerCommand(terminal))
    .addCommand(removeCommand(terminal))
    .addHelpText(
      "after",
      examples(
        "quire sources",
        "quire sources put known.json --agent helper",
        "quire sources show --agent helper > known.json",
        `quire sources rule procedures '{"maxItems": 5}'`,
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
