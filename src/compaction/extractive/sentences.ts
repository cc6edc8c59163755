/** What a sentence was in its text: running prose, a line of a list, a task that is open or done, a line of code. */
export type SentenceKind = "prose" | "item" | "task" | "done" | "code";

export interface Sentence {
  readonly text: string;
  readonly kind: SentenceKind;
}

/** The longest sentence; a longer one is cut at a clause or a space, and what follows begins with an ellipsis. */
export const maxSentenceChars = 320;

const shortestPart = 120;
const bullet = /^(?:[-*+•‣]|\d{1,3}[.)])[ \t]+/u;
const task = /^\[([ xX✓])\][ \t]*/u;
const abbreviation =
  /(?:^|[\s(])(?:\p{L}|[Mm]rs?|[Mm]s|[Dd]r|[Pp]rof|[Ss]r|[Jj]r|[Ss]t|[Nn]o|[Nn]r|vs|etc|approx|[Ff]ig|[Vv]ol|e\.g|i\.e|a\.m|p\.m|z\.B|d\.h|bzw|ca|U\.S|Inc|Ltd|Co)$/u;
const closing = new Set("\"'”’»)]*_`」』）】");
const endsAnywhere = new Set("。！？｡．");
const endsBeforeSpace = new Set(".!?…");

/**
 * The sentences of a text, in order, trimmed, their inner white space made single spaces. Lines are never joined: a
 * list stays a list, and what has neither letter nor digit is left out. A full stop inside a number, an address or a file name ends nothing.
 */
export function* sentencesIn(text: string): Generator<Sentence, void> {
  let inFence = false;
  for (let at = 0; at <= text.length; ) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    const line = text.slice(at, end).trim();
    at = end + 1;
    if (line === "") continue;
    if (line.startsWith("```") || line.startsWith("~~~")) {
      inFence = !inFence;
      continue;
    }
    if (inFence) {
      for (const part of split(line, 0)) yield { text: part, kind: "code" };
    } else {
      yield* sentencesOfLine(line);
    }
  }
}

function* sentencesOfLine(line: string): Generator<Sentence, void> {
  const lead = bullet.exec(line)?.[0] ?? "";
  const box = lead === "" ? null : task.exec(line.slice(lead.length, lead.length + 16));
  const start = lead.length + (box?.[0].length ?? 0);
  const kind: SentenceKind = box ? (box[1] === " " ? "task" : "done") : lead !== "" ? "item" : "prose";
  for (const text of split(line, start)) yield { text, kind };
}

/** Reads no further than the longest sentence before it gives something, so that a line may be of any length. */
function* split(line: string, from: number): Generator<string, void> {
  let start = from;
  let lead = "";
  for (let at = from; at < line.length; at++) {
    if (at - start >= maxSentenceChars) {
      const cut = partEnd(line, start);
      yield* piece(line, start, cut, lead);
      start = cut;
      lead = "…";
    }
    const char = line[at]!;
    const isWide = endsAnywhere.has(char);
    if (!isWide && !endsBeforeSpace.has(char)) continue;
    let end = at + 1;
    while (end < line.length && end - start < maxSentenceChars && isTail(line[end]!)) end++;
    const isEnd = isWide || (end < line.length && isSpace(line[end]!) && !goesOn(line, start, at, end));
    if (isEnd) {
      yield* piece(line, start, end, lead);
      start = end;
      lead = "";
    }
    at = end - 1;
  }
  yield* piece(line, start, line.length, lead);
}

function* piece(line: string, start: number, end: number, lead: string): Generator<string, void> {
  const text = line.slice(start, end).replace(/\s+/gu, " ").trim();
  if (/[\p{L}\p{N}]/u.test(text)) yield `${lead}${text}`;
}

function isTail(char: string): boolean {
  return closing.has(char) || endsBeforeSpace.has(char) || endsAnywhere.has(char);
}

function isSpace(char: string): boolean {
  return char === " " || char === "\t" || char === "\u00a0" || char === "\u3000";
}

/** Whether the full stop at `at` belongs to an abbreviation, or the next word shows that the sentence goes on. */
function goesOn(line: string, start: number, at: number, end: number): boolean {
  if (line[at] !== "." && line[at] !== "…") return false;
  if (line[at] === "." && abbreviation.test(line.slice(Math.max(start, at - 8), at))) return true;
  return /^\s*\p{Ll}/u.test(line.slice(end, end + 8));
}

function partEnd(line: string, at: number): number {
  let space = -1;
  for (let cut = at + maxSentenceChars - 1; cut > at + shortestPart; cut--) {
    if (!isSpace(line[cut]!)) continue;
    if (",;:—–|".includes(line[cut - 1]!)) return cut;
    if (space < 0) space = cut;
  }
  if (space > 0) return space;
  const hard = at + maxSentenceChars - 1;
  const isLowSurrogate = (line.charCodeAt(hard) & 0xfc00) === 0xdc00;
  return isLowSurrogate ? hard - 1 : hard;
}
