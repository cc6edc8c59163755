import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, parse } from "node:path";
import { Argument, Command, Option } from "commander";
import { cleanName } from "../../transcripts/import/clean-name.js";
import { type ImportFormat, importFormats, planImport } from "../../transcripts/import/formats.js";
import type { ImportPlan } from "../../transcripts/import/transcript.js";
import { CliError } from "../cli-error.js";
import { withClient } from "../client/with-client.js";
import { type WrittenSession, writePlan } from "../import/write-plan.js";
import { findingsText } from "../terminal/findings-text.js";
import { counted, printable } from "../terminal/printable.js";
import { createProgress } from "../terminal/progress.js";
import { printJson, printLine, say, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, type ServerFlags } from "./options.js";

interface ImportFlags extends ServerFlags {
  readonly format: ImportFormat;
  readonly session?: string;
  readonly dryRun?: boolean;
}

export function importCommand(terminal: Terminal): Command {
  const command = new Command("import")
    .description("make sessions of a transcript; running it again takes up what is missing")
    .addArgument(new Argument("<file>", "the transcript"))
    .addOption(
      new Option("--format <format>", "what the file holds")
        .choices([...importFormats])
        .makeOptionMandatory(),
    )
    .option("--session <label>", "the session's label (default: the file's name)")
    .option("--dry-run", "only say what would be written; needs no server")
    .addHelpText(
      "after",
      examples(
        "quire import chat.json --format openai --session support-42",
        "quire import ~/.claude/projects/-home-me-app/3f0e.jsonl --format claude-code-jsonl",
        "quire import airline.json --format openai --dry-run",
      ),
    );
  return addServerFlags(command).action((file: string, flags: ImportFlags) =>
    runImport(terminal, file, flags),
  );
}

async function runImport(terminal: Terminal, file: string, flags: ImportFlags): Promise<void> {
  const bytes = await readTranscript(file);
  const fileHash = createHash("sha256").update(bytes).digest("hex");
  const source = {
    format: flags.format,
    text: bytes.toString("utf8"),
    stem: parse(file).name,
    session: flags.session,
  };
  const plan = planImport(source, {
    "import.file": cleanName(basename(file), 256),
    "import.format": flags.format,
    "import.sha256": fileHash,
  });
  const turns = plan.sessions.reduce((sum, session) => sum + session.turns.length, 0);
  if (turns === 0)
    throw new CliError(`${file} holds no messages to import`, { details: { findings: plan.findings } });
  if (flags.dryRun) return report(terminal, plan, undefined, flags);
  const progress = createProgress(terminal, "turns", flags.json === true);
  const sessions = await withClient(flags, async ({ ledger }) => {
    try {
      return await writePlan(ledger, plan, fileHash, progress);
    } finally {
      progress.stop();
    }
  });
  report(terminal, plan, sessions, flags);
}

async function readTranscript(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

function report(
  terminal: Terminal,
  plan: ImportPlan,
  written: readonly WrittenSession[] | undefined,
  flags: ImportFlags,
): void {
  const messages = plan.sessions
    .flatMap(({ turns }) => turns)
    .reduce((sum, turn) => sum + turn.messages.length, 0);
  const planned = plan.sessions.map(({ label, turns }) => ({ label, planned: turns.length }));
  if (flags.json) {
    const sessions = written ?? planned;
    printJson(terminal, {
      dryRun: flags.dryRun === true,
      sessions,
      messages,
      findings: plan.findings,
    });
    return;
  }
  const turns = planned.reduce((sum, session) => sum + session.planned, 0);
  const size = `${counted(plan.sessions.length, "session")}, ${counted(turns, "turn")}, ${counted(messages, "message")}`;
  printLine(terminal, `${written ? "imported" : "would import"} ${size}${alreadyThere(written ?? [])}`);
  for (const { label } of plan.sessions.slice(0, 10)) printLine(terminal, `  ${printable(label)}`);
  if (plan.sessions.length > 10) printLine(terminal, `  and ${plan.sessions.length - 10} more`);
  if (plan.findings.length === 0) return;
  say(terminal, `not as it was in the file:\n${printable(findingsText(plan.findings))}`);
}

function alreadyThere(written: readonly WrittenSession[]): string {
  const found = written.reduce((sum, session) => sum + session.found, 0);
  return found > 0 ? ` (${counted(found, "turn")} of it were there already)` : "";
}
