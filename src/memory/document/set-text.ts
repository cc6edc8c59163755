import type { LoroText } from "loro-crdt";

/** Makes a text say something else, and leaves alone what it begins and ends with anyway: others may be writing there. */
export function setText(text: LoroText, now: string): void {
  const was = text.toString();
  if (was === now) return;
  const shorter = Math.min(was.length, now.length);
  let start = 0;
  while (start < shorter && was.charCodeAt(start) === now.charCodeAt(start)) start++;
  if (isInPair(was, start) || isInPair(now, start)) start--;
  let end = 0;
  while (
    end < shorter - start &&
    was.charCodeAt(was.length - 1 - end) === now.charCodeAt(now.length - 1 - end)
  )
    end++;
  if (isInPair(was, was.length - end) || isInPair(now, now.length - end)) end--;
  if (was.length - end > start) text.delete(start, was.length - end - start);
  if (now.length - end > start) text.insert(start, now.slice(start, now.length - end));
}

/** Whether a place is between the two halves of a character. */
function isInPair(text: string, at: number): boolean {
  return at > 0 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}
