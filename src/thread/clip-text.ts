/** Counts a text, now or elsewhere. */
export type CountText = (text: string) => number | Promise<number>;

/** Fewer tokens of a text say nothing. */
const leastExcerptTokens = 32;
/** Of what is kept of a text so much is its beginning; the rest is its end, where errors and results stand. */
const headShare = 0.6;

/**
 * The beginning and the end of a text with a mark between them, which together cost no more than so many tokens; the mark alone where
 * that is not enough. A text that costs no more is as it was. `markOf` is told how many tokens are left out.
 */
export async function clipText(
  text: string,
  textTokens: number,
  mostTokens: number,
  markOf: (leftOutTokens: number) => string,
  count: CountText,
): Promise<string> {
  if (textTokens <= mostTokens) return text;
  const room = mostTokens - (await count(`\n${markOf(textTokens)}\n`));
  for (let kept = room; kept >= leastExcerptTokens; kept = Math.floor(kept * 0.8)) {
    const chars = Math.floor((kept * text.length) / textTokens);
    const head = text.slice(0, headEnd(text, Math.ceil(chars * headShare)));
    const tail = text.slice(tailStart(text, text.length - Math.floor(chars * (1 - headShare))));
    const leftOut = Math.max(1, textTokens - (await count(head)) - (await count(tail)));
    const clipped = `${head}\n${markOf(leftOut)}\n${tail}`;
    if ((await count(clipped)) <= mostTokens) return clipped;
  }
  return markOf(textTokens);
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
