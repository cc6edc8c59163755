import type { Warning } from "../../domain/warning.js";
import { say, type Terminal } from "./terminal.js";

/** Warnings of an answer, on stderr: they are seen whatever becomes of stdout. */
export function printWarnings(terminal: Terminal, warnings: readonly Warning[]): void {
  for (const { detail } of warnings) say(terminal, `warning: ${detail}`);
}
