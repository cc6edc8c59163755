import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { packageRoot } from "../config/package-root.js";
import { assembleCommand } from "./commands/assemble.js";
import { backupCommand } from "./commands/backup.js";
import { cacheCommand } from "./commands/cache.js";
import { capsuleCommand } from "./commands/capsule.js";
import { compactCommand } from "./commands/compact.js";
import { completionCommand } from "./commands/completion.js";
import { deleteCommand } from "./commands/delete.js";
import { demoCommand } from "./commands/demo.js";
import { doctorCommand } from "./commands/doctor.js";
import { exportCommand } from "./commands/export.js";
import { forkCommand } from "./commands/fork.js";
import { importCommand } from "./commands/import.js";
import { memoryCommand } from "./commands/memory.js";
import { modelsCommand } from "./commands/models.js";
import { examples } from "./commands/options.js";
import { receiptCommand } from "./commands/receipt.js";
import { reindexCommand } from "./commands/reindex.js";
import { searchCommand } from "./commands/search.js";
import { serveCommand } from "./commands/serve.js";
import { sessionsCommand } from "./commands/sessions.js";
import { sourcesCommand } from "./commands/sources.js";
import { turnsCommand } from "./commands/turns.js";
import { validateCommand } from "./commands/validate.js";
import { workspaceCommand } from "./commands/workspace.js";
import type { Terminal } from "./terminal/terminal.js";

/** The `quire` command. It throws on wrong usage; whoever runs it decides about exit codes. */
export function createProgram(terminal: Terminal): Command {
  const { version } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as {
    version: string;
  };
  const program = new Command("quire")
    .description("A ledger of agent conversations, served over gRPC.")
    .version(version)
    // Otherwise `quire capsule show helper --version 2` would ask for Quire's own version.
    .enablePositionalOptions()
    .addHelpText(
      "after",
      `${examples("quire serve", "quire import chat.json --format openai --session support-42", "quire turns support-42 --messages")}
Exit codes: 0 done, 1 failed, 2 wrong usage.
`,
    );
  const commands = [
    serveCommand(terminal),
    demoCommand(terminal),
    sessionsCommand(terminal),
    turnsCommand(terminal),
    forkCommand(terminal),
    deleteCommand(terminal),
    compactCommand(terminal),
    capsuleCommand(terminal),
    workspaceCommand(terminal),
    memoryCommand(terminal),
    searchCommand(terminal),
    sourcesCommand(terminal),
    assembleCommand(terminal),
    receiptCommand(terminal),
    cacheCommand(terminal),
    validateCommand(terminal),
    modelsCommand(terminal),
    importCommand(terminal),
    exportCommand(terminal),
    backupCommand(terminal),
    reindexCommand(terminal),
    doctorCommand(terminal),
    completionCommand(terminal),
  ];
  for (const command of commands) program.addCommand(command);
  for (const command of [program, ...commands, ...commands.flatMap((parent) => parent.commands)]) {
    command
      .exitOverride()
      .showHelpAfterError("(--help says more)")
      .configureOutput({
        writeOut: (text) => terminal.stdout.write(text),
        writeErr: (text) => terminal.stderr.write(text),
      });
  }
  return program;
}
