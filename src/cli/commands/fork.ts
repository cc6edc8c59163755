import { Command, Option } from "commander";
import { sessionJson } from "../../contract/proto-json.js";
import { withClient } from "../client/with-client.js";
import { counted, printable } from "../terminal/printable.js";
import { printJson, printLine, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, type ServerFlags } from "./options.js";

interface ForkFlags extends ServerFlags {
  readonly label?: string;
  readonly at?: string;
  readonly before?: string;
}

export function forkCommand(terminal: Terminal): Command {
  const command = new Command("fork")
    .description("make a session that shares the turns of another and goes on by itself")
    .argument("<session>", "its label, id or alias")
    .option("--label <text>", "the fork's name; made up when left out")
    .option("--at <turn>", "the last turn that they share; the session's head when left out")
    .addOption(
      new Option("--before <turn>", "share what came before this turn, to say it again otherwise").conflicts(
        "at",
      ),
    )
    .addHelpText(
      "after",
      examples(
        "quire fork support-42 --label support-42-again",
        'quire fork support-42 --before "$(quire turns support-42 --limit 1 --json | jq -r .id)"',
      ),
    );
  return addServerFlags(command).action((session: string, flags: ForkFlags) =>
    withClient(flags, async ({ ledger }) => {
      const { label = "" } = flags;
      const { session: fork } = await ledger.forkSession({ session, label, at: placeOf(flags) });
      if (flags.json) return printJson(terminal, sessionJson.toJson(fork!));
      const { label: name, id, depth } = fork!;
      printLine(
        terminal,
        printable(`session ${name || id}: forked from ${session}, with ${counted(depth, "turn")}`),
      );
    }),
  );
}

function placeOf({ at, before }: ForkFlags) {
  if (at !== undefined) return { $case: "turnId" as const, value: at };
  return before === undefined ? undefined : { $case: "beforeTurnId" as const, value: before };
}
