import { Command } from "commander";
import { withClient } from "../client/with-client.js";
import { counted, printable } from "../terminal/printable.js";
import { printJson, printLine, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, type ServerFlags } from "./options.js";

interface DeleteFlags extends ServerFlags {
  readonly cascade?: boolean;
}

export function deleteCommand(terminal: Terminal): Command {
  const command = new Command("delete")
    .description("erase a session with its turns; nothing of it can be restored")
    .argument("<session>", "its label, id or alias")
    .option("--cascade", "the sessions of its sub-agents, too")
    .addHelpText(
      "after",
      `${examples("quire delete support-42", "quire delete research --cascade")}
Turns that other sessions reach, such as forks of this one, stay.
`,
    );
  return addServerFlags(command).action((session: string, flags: DeleteFlags) =>
    withClient(flags, async ({ ledger }) => {
      const erased = await ledger.deleteSession({ session, cascade: flags.cascade === true });
      const { erasedTurns, keptTurns, erasedSubAgentIds } = erased;
      if (flags.json) return printJson(terminal, erased);
      const subAgents = erasedSubAgentIds.length;
      const words = [
        `erased, with ${counted(erasedTurns, "turn")}`,
        ...(subAgents > 0 ? [`and ${counted(subAgents, "sub-agent")}`] : []),
        ...(keptTurns > 0 ? [`; ${counted(keptTurns, "turn")} kept, which other sessions reach`] : []),
      ];
      printLine(terminal, printable(`session ${session}: ${words.join(" ").replace(" ;", ";")}`));
    }),
  );
}
