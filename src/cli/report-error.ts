import { CommanderError } from "commander";
import { ConfigError } from "../config/config-error.js";
import { CliError } from "./cli-error.js";
import { printable } from "./terminal/printable.js";
import { say, sayJson, type Terminal } from "./terminal/terminal.js";

/** Says on stderr what went wrong, and gives the exit code. */
export function reportError(terminal: Terminal, error: unknown, json: boolean): number {
  // Help and version come as such errors, too, with exit code 0; commander has said what there is to say.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const failure = asCliError(error);
  if (json) {
    const { message, hints, details } = failure;
    sayJson(terminal, { error: { message, ...details, ...(hints.length > 0 ? { hints } : {}) } });
  } else {
    say(terminal, printable(errorText(failure)));
  }
  return failure.exitCode;
}

function asCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  if (error instanceof ConfigError)
    return new CliError(error.message, { exitCode: 2, details: { problems: error.problems } });
  return new CliError(error instanceof Error ? error.message : String(error));
}

function errorText({ message, hints, details }: CliError): string {
  const { reason, fields, metadata } = details;
  const lines = [`error: ${message}`];
  if (typeof reason === "string") lines.push(`  reason: ${reason}`);
  const violations = Array.isArray(fields) ? (fields as { field: string; description: string }[]) : [];
  for (const { field, description } of violations) lines.push(`  field: ${field}: ${description}`);
  if (typeof metadata === "object" && metadata !== null) {
    const isSaid = (key: string, value: unknown) =>
      key === "field" && violations.some(({ field }) => field === value);
    for (const [key, value] of Object.entries(metadata))
      if (!isSaid(key, value)) lines.push(`  ${key}: ${String(value)}`);
  }
  return [...lines, ...hints.map((hint) => `  hint: ${hint}`)].join("\n");
}
