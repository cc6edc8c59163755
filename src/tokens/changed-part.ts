/** Where two texts differ, cut where tokens end: what both have before and after these parts has as many tokens in each. */
export interface ChangedPart {
  readonly was: string;
  readonly is: string;
}

/** The parts by which a text differs from what it was. A long text that is changed a little need not be counted anew. */
export function changedPart(was: string, is: string): ChangedPart {
  const start = sameStart(was, is);
  const same = sameEnd(was, is, Math.min(was.length, is.length) - start);
  // Both characters that a cut is between must be the same in both texts.
  let from = start - 1;
  while (from > 0 && !isCut(was, from)) from--;
  let end = was.length - same + 1;
  while (end < was.length && !isCut(was, end)) end++;
  const left = Math.max(0, from);
  const right = was.length - Math.min(end, was.length);
  return { was: was.slice(left, was.length - right), is: is.slice(left, is.length - right) };
}

/** Texts are compared by so much at once, which takes far less time than one by one. */
const stride = 4_096;

/** How many characters both begin with. */
function sameStart(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let at = 0;
  while (at + stride <= most && a.slice(at, at + stride) === b.slice(at, at + stride)) at += stride;
  while (at < most && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at;
}

/** How many characters both end with, of at most so many. */
function sameEnd(a: string, b: string, most: number): number {
  const before = (text: string, at: number) => text.slice(text.length - at - stride, text.length - at);
  let at = 0;
  while (at + stride <= most && before(a, at) === before(b, at)) at += stride;
  while (at < most && a.charCodeAt(a.length - 1 - at) === b.charCodeAt(b.length - 1 - at)) at++;
  return at;
}

/** Whether a place is between a letter or digit and a space: in no vocabulary is a token on both sides of it, nor does one depend on the other side. */
function isCut(text: string, at: number): boolean {
  return text.charCodeAt(at) === 0x20 && isWordEnd(text.charCodeAt(at - 1));
}

function isWordEnd(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39);
}
