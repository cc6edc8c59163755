import { structuredPatch } from "diff";

export interface TextChange {
  readonly before: string;
  readonly now: string;
}

/** Longer texts, both together, are not compared at all. */
const mostChars = 4 * 1024 * 1024;
/** What lies between the first and the last line that changed, in both texts together. */
const mostLines = 32_768;
/** Lines that came and went. The work grows with their square. */
const mostEdits = 256;

/**
 * The lines that differ, with a line around them, as a diff; undefined where that is more than it is worth to find them. The bounds
 * count work and not time: the same texts give the same answer on every machine, within some tens of milliseconds.
 */
export function changedLines({ before, now }: TextChange): string | undefined {
  if (before.length + now.length > mostChars) return undefined;
  const [old, current] = withoutCommonEnds(ensureLine(before), ensureLine(now));
  if (countLines(old) + countLines(current) > mostLines) return undefined;
  const patch = structuredPatch("", "", old, current, "", "", { context: 1, maxEditLength: mostEdits });
  return patch?.hunks
    .map(({ lines }) => lines.filter((line) => !line.startsWith("\\")).join("\n"))
    .join("\n...\n");
}

/** Both texts without the lines that they begin and end with alike, but for one on either side. */
function withoutCommonEnds(a: string, b: string): readonly [string, string] {
  const shorter = Math.min(a.length, b.length);
  let same = 0;
  while (same < shorter && a.charCodeAt(same) === b.charCodeAt(same)) same++;
  const start = lineStart(a, lineStart(a, same) - 1);
  let sameEnd = 0;
  while (
    sameEnd < shorter - same &&
    a.charCodeAt(a.length - 1 - sameEnd) === b.charCodeAt(b.length - 1 - sameEnd)
  )
    sameEnd++;
  const end = lineEnd(a, lineEnd(a, a.length - sameEnd));
  return [a.slice(start, end), b.slice(start, b.length - (a.length - end))];
}

/** Where the line begins that a place is in. */
function lineStart(text: string, at: number): number {
  return at <= 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
}

/** Where the line ends that a place is in, behind its line break. */
function lineEnd(text: string, at: number): number {
  const newline = text.indexOf("\n", at);
  return newline < 0 ? text.length : newline + 1;
}

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}

function ensureLine(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}
