import type { Writable } from "node:stream";
import { printableJson, printableLine } from "./printable.js";

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
  terminal.stdout.write(`${printableLine(line)}\n`);
}

export function printJson(terminal: Terminal, value: unknown, indent?: number): void {
  terminal.stdout.write(`${shownJson(terminal, JSON.stringify(value, undefined, indent))}\n`);
}

/** JSON for stdout: byte for byte for a file or a program, with escapes for a person's screen. */
export function shownJson(terminal: Pick<Terminal, "stdout">, json: string): string {
  return isScreen(terminal) ? printableJson(json) : json;
}

/** Whether answers go to a person's screen, and not into a file or another program. */
export function isScreen({ stdout }: Pick<Terminal, "stdout">): boolean {
  return (stdout as Partial<NodeJS.WriteStream>).isTTY === true;
}

export function say(terminal: Terminal, line: string): void {
  terminal.stderr.write(`${printableLine(line)}\n`);
}

/** JSON on stderr, with escapes where a person watches it. */
export function sayJson(terminal: Terminal, value: unknown): void {
  const json = JSON.stringify(value);
  terminal.stderr.write(`${shownJson({ stdout: terminal.stderr }, json)}\n`);
}
