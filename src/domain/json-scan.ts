/** How many arrays and objects may be nested in JSON that a request carries: each level is a call in most walks over it. */
export const maxJsonDepth = 128;

/** The same for a provider's body, which wraps the arguments and schemas that it carries. */
export const maxBodyDepth = 2 * maxJsonDepth;

const openBracket = 0x5b;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const closeBracket = 0x5d;
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;

/** Not found. */
const none = -1;

/**
 * What a text is: a JSON object, another JSON value, no JSON, or nested deeper than so many levels. It looks at each character
 * once, up to the first that settles it, and builds nothing: a reader takes many times as long for what is deep or wide.
 */
export function scanJson(text: string, levels: number): "object" | "value" | "no JSON" | "too deep" {
  const inObject: boolean[] = [];
  let at = pastSpace(text, 0);
  const kind = text.charCodeAt(at) === openBrace ? "object" : "value";
  for (;;) {
    const first = text.charCodeAt(at);
    const opens = first === openBrace || first === openBracket;
    if (!opens) at = scalarEnd(text, at);
    else {
      if (inObject.length === levels) return "too deep";
      at = pastSpace(text, at + 1);
      const isEmpty = text.charCodeAt(at) === (first === openBrace ? closeBrace : closeBracket);
      if (isEmpty) at++;
      else {
        inObject.push(first === openBrace);
        if (first === openBrace) at = keyEnd(text, at);
        if (at === none) return "no JSON";
        continue;
      }
    }
    if (at === none) return "no JSON";
    at = nextValue(text, at, inObject);
    if (at === none) return "no JSON";
    if (inObject.length === 0) return at === text.length ? kind : "no JSON";
  }
}

/** From behind a value to where the next one begins, or to the end if all that was open is closed. */
function nextValue(text: string, from: number, inObject: boolean[]): number {
  let at = from;
  for (;;) {
    at = pastSpace(text, at);
    const isObject = inObject.at(-1);
    if (isObject === undefined) return at;
    const unit = text.charCodeAt(at++);
    if (unit === comma) {
      at = pastSpace(text, at);
      return isObject ? keyEnd(text, at) : at;
    }
    if (unit !== (isObject ? closeBrace : closeBracket)) return none;
    inObject.pop();
  }
}

/** Behind a key and its colon. */
function keyEnd(text: string, from: number): number {
  const end = text.charCodeAt(from) === quote ? stringEnd(text, from + 1) : none;
  if (end === none) return none;
  const at = pastSpace(text, end);
  return text.charCodeAt(at) === colon ? pastSpace(text, at + 1) : none;
}

const scalar = /(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)/y;

export function scalarEnd(text: string, at: number): number {
  if (text.charCodeAt(at) === quote) return stringEnd(text, at + 1);
  scalar.lastIndex = at;
  return scalar.test(text) ? scalar.lastIndex : none;
}

const escaped: ReadonlySet<number> = new Set([...'"\\/bfnrt'].map((letter) => letter.charCodeAt(0)));
const fourHex = /[0-9a-fA-F]{4}/y;

/** Behind a string's closing quote. */
export function stringEnd(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === quote) return at + 1;
    if (unit < 0x20) return none;
    if (unit !== backslash) continue;
    at++;
    if (escaped.has(text.charCodeAt(at))) continue;
    fourHex.lastIndex = at + 1;
    if (text[at] !== "u" || !fourHex.test(text)) return none;
    at += 4;
  }
  return none;
}

export function pastSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    const unit = text.charCodeAt(at);
    if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return at;
    at++;
  }
}

/** A field of a JSON object, as it is written. */
export interface JsonEntry {
  /** With its quotes. */
  readonly key: string;
  readonly value: string;
}

/** The fields of an object, not parsed, so that numbers stay what they are; undefined where the text is no object. */
export function jsonEntries(text: string): JsonEntry[] | undefined {
  if (scanJson(text, maxJsonDepth) !== "object") return undefined;
  const entries: JsonEntry[] = [];
  let at = pastSpace(text, pastSpace(text, 0) + 1);
  while (text.charCodeAt(at) === quote) {
    const keyStop = stringEnd(text, at + 1);
    const from = keyEnd(text, at);
    const to = valueEnd(text, from);
    entries.push({ key: text.slice(at, keyStop), value: text.slice(from, to) });
    at = pastSpace(text, pastSpace(text, to) + 1);
  }
  return entries;
}

/** Behind a value of a text that is known to be JSON. */
function valueEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; ; ) {
    const unit = text.charCodeAt(at);
    if (unit === openBrace || unit === openBracket) {
      depth++;
      at++;
    } else if (unit === closeBrace || unit === closeBracket) {
      depth--;
      at++;
    } else if (depth > 0 && (unit === comma || unit === colon)) at++;
    else at = scalarEnd(text, at);
    if (depth === 0) return at;
    at = pastSpace(text, at);
  }
}

/** The value of a JSON text; undefined where it is none, or one too deep for the walks that come after. */
export function parseJson(text: string): unknown {
  const isShort = text.length <= 2 * maxJsonDepth;
  if (!isShort && scanJson(text, maxJsonDepth) === "too deep") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
