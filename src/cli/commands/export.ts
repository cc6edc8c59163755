import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Command, Option } from "commander";
import { type ExportFormat, exporters, exportFormats } from "../../transcripts/export/formats.js";
import { Findings } from "../../transcripts/findings.js";
import { CliError } from "../cli-error.js";
import { withClient } from "../client/with-client.js";
import { openThread } from "../export/thread.js";
import { findingsText } from "../terminal/findings-text.js";
import { counted, printable } from "../terminal/printable.js";
import { printJson, say, shownJson, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, type ServerFlags } from "./options.js";

interface ExportFlags extends ServerFlags {
  readonly format: ExportFormat;
  readonly output?: string;
}

export function exportCommand(terminal: Terminal): Command {
  const command = new Command("export")
    .description("write a session's thread to stdout or a file")
    .argument("<session>", "its label, id or alias")
    .addOption(
      new Option("--format <format>", "quire-jsonl loses nothing and can be imported again")
        .choices([...exportFormats])
        .default("quire-jsonl"),
    )
    .option("--output <file>", "where to write (default: stdout)")
    .addHelpText(
      "after",
      examples(
        "quire export support-42 --output support-42.jsonl",
        "quire export support-42 --format openai | jq length",
      ),
    );
  return addServerFlags(command).action((session: string, flags: ExportFlags) =>
    withClient(flags, async ({ ledger }) => {
      const thread = await openThread(ledger, session);
      const findings = new Findings();
      const text = exporters[flags.format](thread, findings);
      if (flags.output) await writeFile(text, flags.output);
      else await pipeline(Readable.from(shown(terminal, text)), terminal.stdout as Writable, { end: false });
      report(terminal, flags, findings, thread.session.depth);
    }),
  );
}

async function* shown(terminal: Terminal, text: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const piece of text) yield shownJson(terminal, piece);
}

/** The file appears, or is replaced, only when it is whole. */
async function writeFile(text: AsyncIterable<string>, file: string): Promise<void> {
  const partial = `${file}.partial`;
  try {
    await pipeline(Readable.from(text), createWriteStream(partial, { flush: true }));
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    if (error instanceof CliError) throw error;
    throw new CliError(`${file} cannot be written: ${(error as Error).message}`);
  }
}

function report(terminal: Terminal, flags: ExportFlags, findings: Findings, turns: number): void {
  const { format, output } = flags;
  // Without a file the export itself is on stdout, and is JSON in every format.
  if (flags.json && output) {
    printJson(terminal, { file: output, format, turns, findings: findings.list() });
    return;
  }
  if (output) say(terminal, `wrote ${counted(turns, "turn")} to ${printable(output)}`);
  if (findings.list().length > 0) {
    say(terminal, `not in the export as it is in the ledger:\n${printable(findingsText(findings.list()))}`);
  }
}
