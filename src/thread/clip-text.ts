import { eachName, namesIn } from "../domain/names.js";

/** Counts a text, now or elsewhere. */
export type CountText = (text: string) => number | Promise<number>;

/** What stands for what is left out of a text. */
export interface Marks {
  leftOut(tokens: number): string;
  /** Lists names that were in it. */
  names(names: string): string;
}

/** Fewer tokens of a text say nothing. */
const leastExcerptTokens = 32;
/** Of what is kept of a text so much is its beginning; the rest is its end, where errors and results stand. */
const headShare = 0.6;
/** So much of it is for names of what is left out: the next calls need them more than half of a text. */
const namesShare = 0.4;
/** Names are looked for in so much of what is left out. */
const readChars = 262_144;

/**
 * The beginning and the end of a text with a mark between them and the names that were left out, which together cost no more than so many
 * tokens; the mark alone where that is not enough. A text that costs no more is as it was.
 */
export async function clipText(
  text: string,
  textTokens: number,
  mostTokens: number,
  marks: Marks,
  count: CountText,
): Promise<string> {
  if (textTokens <= mostTokens) return text;
  const room = mostTokens - (await count(`\n${marks.leftOut(textTokens)}\n`));
  const charsPerToken = text.length / textTokens;
  for (let kept = room; kept >= leastExcerptTokens; kept = Math.floor(kept * 0.8)) {
    const listed = Math.floor(kept * namesShare * charsPerToken);
    const chars = Math.floor(kept * (1 - namesShare) * charsPerToken);
    const headAt = headEnd(text, Math.ceil(chars * headShare));
    const tailAt = tailStart(text, text.length - Math.floor(chars * (1 - headShare)));
    const [head, tail] = [text.slice(0, headAt), text.slice(tailAt)];
    const names = hiddenNames(text.slice(headAt, tailAt), `${head}\n${tail}`, listed);
    const leftOut = Math.max(1, textTokens - (await count(head)) - (await count(tail)));
    const lines = [head, marks.leftOut(leftOut), ...(names === "" ? [] : [marks.names(names)]), tail];
    const clipped = lines.join("\n");
    if ((await count(clipped)) <= mostTokens) return clipped;
  }
  return marks.leftOut(textTokens);
}

/** The names of what is hidden that nothing shown has, those that are said most often first, in so many characters. */
function hiddenNames(hidden: string, shown: string, chars: number): string {
  const times = new Map<string, number>();
  const half = readChars / 2;
  const read = hidden.length <= readChars ? hidden : `${hidden.slice(0, half)}\n${hidden.slice(-half)}`;
  const known = namesIn(shown);
  for (const name of eachName(read)) if (!known.has(name)) times.set(name, (times.get(name) ?? 0) + 1);
  const taken: string[] = [];
  let left = chars;
  for (const [name] of [...times].sort(([, a], [, b]) => b - a)) {
    if (name.length + 2 > left) continue;
    left -= name.length + 2;
    taken.push(name);
  }
  return taken.join(", ");
}

/** A word is not cut in two where a space is as near as this. */
const nearChars = 40;

/** Where the beginning of a text ends: at a space, or at least not inside a character. */
function headEnd(text: string, at: number): number {
  for (let end = at; end > at - nearChars && end > 0; end--) if (isSpace(text, end)) return end;
  return isInside(text, at) ? at - 1 : at;
}

function tailStart(text: string, at: number): number {
  for (let start = at; start < at + nearChars && start < text.length; start++)
    if (isSpace(text, start - 1)) return start;
  return isInside(text, at) ? at + 1 : at;
}

function isSpace(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit === 0x20 || unit === 0x0a;
}

function isInside(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
}
