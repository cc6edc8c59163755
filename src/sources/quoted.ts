/** Text that others wrote, as it may stand among lines of our own: it is data, and nothing in it may pose as anything else. */

/** On one line, so that it cannot begin another. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").trim();
}

/**
 * On lines of its own. What looks like the tag of a block or of a source is shown as text, and a line cannot begin like one of our headings
 * (`[SELF-MODEL]`, `[System prompt update: ...]`).
 */
export function quoted(text: string): string {
  return text
    .replace(/\r\n?|\v|\f|[\u0085\u2028\u2029]/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .replace(tag, "&lt;")
    .replace(/^([\s\p{Cf}]*)\[/gmu, "$1\\[");
}

/** With whatever spaces and unseen characters are in it. */
const tag = new RegExp(
  `<(?=[\\s\\p{Cf}]*/?[\\s\\p{Cf}]*(?:${["block", "source"].map((word) => [...word].join("\\p{Cf}*")).join("|")})[\\s\\p{Cf}]*:)`,
  "giu",
);

/** As the value of an attribute of a tag. */
export function attribute(text: string): string {
  return oneLine(text)
    .replaceAll("&", "&amp;")
    .replaceAll('"', "&quot;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
