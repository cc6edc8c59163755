import { scanJson } from "../../domain/json-scan.js";
import { UnreadableInput } from "../../errors/unreadable-input.js";
import type { Findings } from "../findings.js";

export interface JsonLine {
  readonly line: number;
  readonly value: unknown;
}

/** The lines of a JSON Lines file. A line that is no JSON is left out and reported; a file without any fails. */
export function readJsonLines(text: string, findings: Findings): readonly JsonLine[] {
  const lines: JsonLine[] = [];
  let firstProblem = "";
  for (const [index, raw] of withoutByteOrderMark(text).split("\n").entries()) {
    if (raw.trim() === "") continue;
    try {
      lines.push({ line: index + 1, value: readJson(raw) });
    } catch (error) {
      firstProblem ||= `line ${index + 1}: ${(error as Error).message}`;
      findings.add("lines that are not JSON, or nested too deep, left out", `line ${index + 1}`);
    }
  }
  if (lines.length === 0)
    throw new UnreadableInput(`the file holds no JSON${firstProblem ? `: ${firstProblem}` : ""}`);
  return lines;
}

/** A JSON document, or the values of a JSON Lines file. */
export function readJsonOrLines(text: string, findings: Findings): unknown {
  const whole = withoutByteOrderMark(text);
  try {
    return readJson(whole);
  } catch (error) {
    if (whole.trim().includes("\n") && startsWithWholeLine(whole)) {
      return readJsonLines(whole, findings).map(({ value }) => value);
    }
    throw new UnreadableInput(`the file is neither JSON nor JSON Lines: ${(error as Error).message}`);
  }
}

/** What nests deeper could not be written as JSON again. */
const mostLevels = 1_000;

function readJson(text: string): unknown {
  if (scanJson(text, mostLevels) === "too deep")
    throw new Error(`it is nested more than ${mostLevels} levels deep`);
  return JSON.parse(text);
}

/** Tells JSON Lines from a broken JSON document, whose first line alone is seldom JSON. */
function startsWithWholeLine(text: string): boolean {
  const first = text.split("\n").find((line) => line.trim() !== "") ?? "";
  try {
    JSON.parse(first);
    return true;
  } catch {
    return false;
  }
}

function withoutByteOrderMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}
