import { createProgram } from "./program.js";
import { reportError } from "./report-error.js";
import { processTerminal } from "./terminal/terminal.js";

// A reader that has seen enough (`quire sessions | head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

try {
  await createProgram(processTerminal).parseAsync(process.argv);
} catch (error) {
  process.exitCode = reportError(processTerminal, error, process.argv.includes("--json"));
}
