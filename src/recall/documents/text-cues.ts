/** What ranking knows of a text besides its terms, as bits of `flags`. */
export const TextCue = { ENDS_AS_QUESTION: 1, HAS_QUESTION: 2, HAS_TIME: 4 } as const;

const timeWords =
  /\b(?:yesterday|today|tonight|tomorrow|ago|(?:last|next|this|past|few|couple of) (?:night|week|weekend|month|year|summer|winter|spring|fall|autumn|days|weeks|months|years|time)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october|november|december|in may|may \d|\d{1,2}(?:st|nd|rd|th)|(?:19|20)\d\d|\d+ (?:day|week|month|year)s?|o'clock|\d{1,2}:\d\d|\d ?[ap]m)\b/i;
const questionEnd = /[?？]["'”’)\]\s\p{Extended_Pictographic}\p{M}]*$/u;
const maxChars = 20_000;
const maxTailChars = 1_000;

export function cuesOf(text: string): number {
  const seen = text.length > maxChars ? text.slice(0, maxChars) : text;
  // A caption in brackets at the end is not what was said.
  const said = text.slice(-maxTailChars).replace(/\s*\[[^\]]*\]\s*$/u, "");
  return (
    (questionEnd.test(said) ? TextCue.ENDS_AS_QUESTION : 0) |
    (/[?？]/u.test(seen) ? TextCue.HAS_QUESTION : 0) |
    (timeWords.test(seen) ? TextCue.HAS_TIME : 0)
  );
}

const spoken = /^\s*([\p{Lu}][\p{L}\p{M}'’.-]*(?: [\p{Lu}][\p{L}\p{M}'’.-]*){0,2}): /u;

/** The name that a text begins with, as transcripts of several people write it: `Ann: I see.` */
export function speakerIn(text: string): string {
  return spoken.exec(text.slice(0, 100))?.[1] ?? "";
}

/** The text without that name. */
export function withoutSpeaker(text: string): string {
  return text.replace(spoken, "");
}
