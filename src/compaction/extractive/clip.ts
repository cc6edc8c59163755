import type { CountTokens } from "../plan/summary-task.js";

/** The text, cut to so many characters at a space where there is one near, with an ellipsis where it was cut. */
export function clipChars(text: string, most: number): string {
  if (text.length <= most) return text;
  const hard = most - 1;
  const space = text.lastIndexOf(" ", hard);
  const end = space > most * 0.6 ? space : hard;
  const isHalf = (text.charCodeAt(end) & 0xfc00) === 0xdc00;
  return `${text.slice(0, isHalf ? end - 1 : end).trimEnd()}…`;
}

/** The longest beginning of the text, found by halving, that costs no more than so many tokens; may be empty. */
export function clipTokens(text: string, most: number, count: CountTokens): string {
  if (most <= 0) return "";
  const start = text.slice(0, most * 32);
  if (start.length === text.length && count(start) <= most) return text;
  let fits = 0;
  let tooLong = start.length + 1;
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (count(clipChars(start, middle)) <= most) fits = middle;
    else tooLong = middle;
  }
  return fits === 0 ? "" : clipChars(start, fits);
}

/** One line: white space of any kind, and control characters, become single spaces. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, " ").trim();
}
