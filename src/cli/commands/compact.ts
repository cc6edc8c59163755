import { Command, Option } from "commander";
import type { CompactionNeeded } from "../../contract/gen/quire/v1/compaction.js";
import { compactionJson } from "../../contract/proto-json.js";
import { strategyOf } from "../../domain/compaction.js";
import { CompressionStrategy } from "../../domain/context-settings.js";
import { printCompaction } from "../assemble/compaction-text.js";
import { createLines } from "../assemble/lines.js";
import { withClient } from "../client/with-client.js";
import { printJson, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, positiveNumber, type ServerFlags } from "./options.js";

interface CompactFlags extends ServerFlags {
  readonly instructions?: string;
  readonly keep?: number;
  readonly target?: number;
  readonly strategy?: string;
  readonly summarizer?: readonly string[];
}

/** A model may make the summary, and take its time. */
const timeoutMs = 300_000;
const strategies = ["summary", "truncate", "importance", "time_decay"];

export function compactCommand(terminal: Terminal): Command {
  const command = new Command("compact")
    .description("summarize the older turns of a session now; nothing is deleted")
    .argument("<session>", "its label, id or alias")
    .option("--instructions <text>", "what the summary should heed")
    .option(
      "--keep <n>",
      "how many of the last turns stay as they are (default: the server's)",
      positiveNumber,
    )
    .option("--target <tokens>", "what history should cost after; keeps as many turns as fit", positiveNumber)
    .addOption(
      new Option("--strategy <strategy>", "how the summary is made (default: the server's)").choices(
        strategies,
      ),
    )
    .option(
      "--summarizer <name>",
      "who makes it; give it again for who comes next (default: the server's)",
      (name: string, before: readonly string[] = []) => [...before, name],
    )
    .addHelpText(
      "after",
      examples(
        "quire compact support-42",
        'quire compact support-42 --keep 1 --instructions "keep every address"',
        "quire compact support-42 --summarizer anthropic --summarizer extractive --json | jq -r .summary",
      ),
    );
  return addServerFlags(command).action((session: string, flags: CompactFlags) =>
    withClient(flags, async ({ ledger }) => {
      const request = {
        session,
        instructions: flags.instructions ?? "",
        keepTurns: flags.keep ?? 0,
        targetTokens: flags.target,
        compressionStrategy: flags.strategy ? strategyOf(flags.strategy) : CompressionStrategy.UNSPECIFIED,
        summarizers: flags.summarizer && { names: flags.summarizer },
      };
      const { compaction, needed } = await ledger.compact(request, { timeoutMs });
      if (!compaction) printNeeded(terminal, needed, flags.json === true);
      else if (flags.json) printJson(terminal, compactionJson.toJson(compaction));
      else printCompaction(createLines(terminal), compaction);
    }),
  );
}

/** The summary is the engine's to write: what its model is asked, and the token that goes back with it. */
function printNeeded(terminal: Terminal, needed: CompactionNeeded | undefined, isJson: boolean): void {
  const { planToken = "", systemPrompt = "", prompt = "" } = needed ?? {};
  if (isJson) printJson(terminal, { needed: { planToken, systemPrompt, prompt } });
  else {
    const lines = createLines(terminal);
    lines.entry("needed", "nothing was written: the engine's own model is to write the summary", "yellow");
    lines.below("SubmitCompaction takes it with the plan token; --json shows token and prompt");
  }
}
