import { Command } from "commander";
import { cacheReportJson } from "../../contract/proto-json.js";
import { createLines } from "../assemble/lines.js";
import { printCacheReport } from "../cache/report-text.js";
import { withClient } from "../client/with-client.js";
import { printJson, say, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags } from "./options.js";

interface CacheFlags extends ServerFlags {
  readonly turns: number;
}

export function cacheCommand(terminal: Terminal): Command {
  const command = new Command("cache")
    .description("show what the prompt cache did for the last turns of a session, and what was missed")
    .argument("<session>", "its label, id or alias")
    .option("--turns <n>", "how many of the last turns, at most 1,000", positiveNumber, 20)
    .addHelpText(
      "after",
      `
READ and HIT are what providers reported: the usage that turns are recorded with. PREDICTED is what the plan of
the turn's assembly said would be read: turns have one when they name their assembly.
${examples("quire cache support-42", "quire cache support-42 --turns 100 --json | jq '.models[]'")}`,
    );
  return addServerFlags(command).action((session: string, flags: CacheFlags) =>
    withClient(flags, async ({ assembly }) => {
      const report = await assembly.getCacheReport({ session, turns: flags.turns });
      if (flags.json) return printJson(terminal, cacheReportJson.toJson(report));
      if (report.turns.length === 0) return say(terminal, "the session has no turns");
      printCacheReport(createLines(terminal), report);
    }),
  );
}
