import type { Writable } from "node:stream";

/** Where a command speaks: answers on stdout, everything else on stderr. */
export interface Terminal {
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Whether a person watches stderr, so that a progress bar makes sense. */
  readonly interactive: boolean;
}

export const processTerminal: Terminal = {
  stdout: process.stdout,
  stderr: process.stderr,
  interactive: process.stderr.isTTY === true,
};

export function printLine(terminal: Terminal, line: string): void {
  terminal.stdout.write(`${line}\n`);
}

export function printJson(terminal: Terminal, value: unknown): void {
  printLine(terminal, JSON.stringify(value));
}

export function say(terminal: Terminal, line: string): void {
  terminal.stderr.write(`${line}\n`);
}
