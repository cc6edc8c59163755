export type IdentifierKind =
  | "url"
  | "email"
  | "path"
  | "id"
  | "code"
  | "handle"
  | "tag"
  | "version"
  | "amount"
  | "date"
  | "time"
  | "phone";

export interface Identifier {
  readonly text: string;
  readonly kind: IdentifierKind;
  readonly at: number;
}

const longest = 512;
const blockChars = 32_768;

const months = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}";
const currency = "(?:USD|EUR|GBP|JPY|CHF|CNY|INR|AUD|CAD|dollars?|euros?|pounds?|yen|yuan)";

/** What spans several words. Every repetition is bounded, so that no text makes these slow. */
const spans: readonly (readonly [IdentifierKind, RegExp])[] = [
  [
    "date",
    new RegExp(
      `\\b(?:\\d{1,2}(?:st|nd|rd|th)?(?: of)? ${months},?(?: \\d{4})?|${months} \\d{1,2}(?:st|nd|rd|th)?(?:,? \\d{4}(?!-))?|${months},? \\d{4})\\b(?!-\\d)`,
      "giu",
    ),
  ],
  ["date", /\b(?:\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})(?![\d/])/gu],
  ["date", /\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?|\d{1,2}月\d{1,2}日/gu],
  ["time", /\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.?m\b)?|\b\d{1,2} ?[ap]m\b/giu],
  [
    "amount",
    new RegExp(
      `[$€£¥₹] ?\\d[\\d,.]{0,16}(?:[kKmMbB]\\b)?|\\b\\d[\\d,.]{0,16} ?(?:[€£¥₹]|${currency}\\b)`,
      "giu",
    ),
  ],
  ["phone", /(?<![\w.-])(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\) ?|\d{2,4}[ .-])\d{3,4}[ .-]\d{3,4}(?![\w-])/gu],
  [
    "code",
    /\b(?:[Rr]eservation|[Bb]ooking|[Cc]onfirmation|[Oo]rder|[Tt]icket|[Ll]ocator|PNR|[Cc]ode|[Tt]racking)(?: (?:ID|id|number|code|no\.?|reference))?(?: is|:| =)? ?["'#(]?([A-Z]{5,10})\b/gu,
  ],
];

const word = /[\p{L}\p{N}_@#~+%/\\.:?&=!$-]{2,}/gu;

/** How one word is told to be an identifier, in this order. */
const words: readonly (readonly [IdentifierKind, RegExp])[] = [
  ["url", /^(?:[a-z][a-z0-9+.-]{1,15}:\/\/\S{2,}|www\.\S{4,})$/iu],
  ["email", /^[\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,4}$/u],
  ["handle", /^@[\p{L}_][\p{L}\p{N}_./-]{1,63}$/u],
  ["tag", /^#[\p{L}\p{N}_][\p{L}\p{N}_-]{0,63}$/u],
  ["version", /^[vV]?\d{1,5}\.\d{1,5}\.\d{1,5}(?:[-+.][\p{L}\p{N}.-]{1,32})?$|^[vV]\d{1,4}(?:\.\d{1,5})?$/u],
  ["path", /^(?:~|\.{1,2}|[a-zA-Z]:)?[/\\][\p{L}\p{N}_.@%+-]{2,}(?:[/\\][\p{L}\p{N}_.@%+-]{1,})*[/\\]?$/u],
  ["path", /^[\p{L}\p{N}_.@%+-]{1,}(?:[/\\][\p{L}\p{N}_.@%+-]{1,})+[/\\]?$/u],
  ["path", /^[\p{L}\p{N}_.-]{0,80}[\p{L}\p{N}_-]\.[a-zA-Z][a-zA-Z0-9]{0,5}$/u],
  ["id", /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/iu],
  ["id", /^(?:0x)?(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}$/iu],
  ["id", /^\d{5,}$/u],
  ["code", /^(?=\P{N}*\p{N})(?=\P{L}*\p{L})[\p{L}\p{N}]+(?:[-_#.][\p{L}\p{N}]+)*$/u],
];

/** Words with digits that name nothing: ordinals, sizes, durations, decades. */
const ordinary =
  /^\d[\d.,]*(?:st|nd|rd|th|s|k|m|b|x|am|pm|h|hr|hrs|min|mins|ms|sec|km|cm|mm|kg|g|lb|lbs|mb|gb|tb|kb|d|p|px|%|-?years?|-?year-olds?|-?days?|-?weeks?|-?months?|-?hours?|-?minutes?|-?miles?|[-/]?day|-?step|-?week)$/iu;
const fileEnding =
  /\.(?:[cm]?[jt]sx?|json|ya?ml|toml|md|txt|csv|tsv|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|mp[34]|wav|zip|gz|tgz|tar|py|go|rs|rb|java|kt|c|h|cc|cpp|hpp|cs|sh|sql|proto|prisma|html?|css|xml|log|lock|env|ini|cfg|conf|ipynb|db|sqlite|bin|exe|dll|so|vue|php|swift|parquet)$/iu;

/** Everything in the text that must not be paraphrased, in order. Takes time in proportion to the text. */
export function findIdentifiers(text: string): Identifier[] {
  const found: Identifier[] = [];
  for (let at = 0; at < text.length; ) {
    const end = blockEnd(text, at);
    found.push(...inBlock(text.slice(at, end), at));
    at = end;
  }
  return found;
}

function blockEnd(text: string, at: number): number {
  const end = at + blockChars;
  if (end >= text.length) return text.length;
  for (let cut = end; cut > end - longest; cut--) if (/\s/u.test(text[cut]!)) return cut;
  return end;
}

function inBlock(block: string, offset: number): Identifier[] {
  if (!/[\d@#/\\.]|[A-Z]{5}/u.test(block)) return [];
  const found: Identifier[] = [];
  const taken = new Uint8Array(block.length);
  const isFree = (from: number, to: number) => {
    for (let at = from; at < to; at++) if (taken[at] === 1) return false;
    return true;
  };
  if (/\d|[A-Z]{5}/u.test(block)) {
    for (const [kind, pattern] of spans) {
      for (const match of block.matchAll(pattern)) {
        const text = (match[1] ?? match[0]).replace(/[.,]+$/u, "");
        const from = match[1] === undefined ? match.index : match.index + match[0].length - match[1].length;
        if (!isFree(from, from + text.length)) continue;
        if (kind !== "code" && /[\w/\\-]/u.test(block[from - 1] ?? " ")) continue;
        taken.fill(1, from, from + text.length);
        found.push({ text, kind, at: offset + from });
      }
    }
  }
  for (const match of block.matchAll(word)) {
    if (!isFree(match.index, match.index + match[0].length)) continue;
    for (const { text, kind, at } of ofWord(match[0]))
      found.push({ text, kind, at: offset + match.index + at });
  }
  return found.sort((a, b) => a.at - b.at);
}

function ofWord(raw: string): Identifier[] {
  if (raw.length > longest || !/[\d@#/\\.]/u.test(raw)) return [];
  const lead = /^[.:?&=!%+$-]*(?=[/\\])|^[:?&=!%+$\-.]*/u.exec(raw)?.[0] ?? "";
  const kept = lead.endsWith(".") && /[/\\]/u.test(raw[lead.length] ?? "") ? lead.replace(/[^.]+/gu, "") : "";
  const text = kept + raw.slice(lead.length).replace(/[.:?&=!%+$\-\\]+$/u, "");
  const at = lead.length - kept.length;
  const kind = kindOf(text);
  if (kind !== undefined) return [{ text, kind, at }];
  const inner = /[=:&?]/u.exec(text);
  if (inner === null || text.length < 3) return [];
  const rest = text.slice(inner.index + 1);
  return [text.slice(0, inner.index), rest].flatMap((piece, index) =>
    ofWord(piece).map((found) => ({ ...found, at: at + found.at + (index === 0 ? 0 : inner.index + 1) })),
  );
}

function kindOf(text: string): IdentifierKind | undefined {
  if (text.length < 2 || !/[\d@#/\\.]/u.test(text) || ordinary.test(text)) return undefined;
  for (const [kind, pattern] of words) {
    if (!pattern.test(text)) continue;
    if (kind === "path" && !isPath(text)) continue;
    return kind;
  }
  return undefined;
}

/** "and/or", "24/7" and "e.g" are not paths: one needs a known ending, a root, or two separators. */
function isPath(text: string): boolean {
  if (fileEnding.test(text)) return true;
  if (!/[/\\]/u.test(text)) return false;
  if (/^[\d/\\.-]+$/u.test(text)) return false;
  return /^(?:~|\.{1,2}|[a-zA-Z]:)?[/\\]/u.test(text) || /[/\\].*[/\\]|[/\\].*[._-]|[._-].*[/\\]/u.test(text);
}
