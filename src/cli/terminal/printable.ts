/** What turns the direction of text around, so that it reads otherwise than it is. */
const bidi = "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069";
const c0 = "\\u0000-\\u0008\\u000b-\\u001f\\u007f";
const c1 = "\\u0080-\\u009f";
const obeyed = new RegExp(`[${c0}${c1}${bidi}]`, "g");
const obeyedUnpainted = new RegExp(`[${c1}${bidi}]`, "g");

/** Text of strangers without what a terminal would obey: controls, except for line ends and tabs. */
export function printable(text: string): string {
  return text.replace(obeyed, "\uFFFD");
}

/** The same for a whole line, whose colours stay: the last look at all that is said to a person. */
export function printableLine(line: string): string {
  return line.replace(obeyedUnpainted, "\uFFFD");
}

/** JSON without them: as escapes, which is the same JSON. */
export function printableJson(json: string): string {
  return json.replace(obeyed, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** One line of a text, cut to a width. */
export function oneLine(text: string, width: number): string {
  const line = printable(text).replace(/\s+/g, " ").trim();
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}

/** A time as people read it: local, to the second. */
export function localTime(time: Date | undefined): string {
  if (!time) return "";
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19).replace("T", " ");
}

const units = [
  { from: 1e9, letter: "G" },
  { from: 1e6, letter: "M" },
  { from: 1e3, letter: "k" },
] as const;

/** A figure for a table, where three digits are enough: 999, 9,876, 12.3k, 1.05M. `--json` has it exactly. */
export function rounded(value: number): string {
  if (Math.abs(value) < 10_000) return value.toLocaleString("en-US", { maximumFractionDigits: 2 });
  const short = (from: number) => Number((value / from).toPrecision(3));
  // What would be 1,000 of a unit is 1 of the next.
  const at = units.findIndex(({ from }) => Math.abs(Number(value.toPrecision(3))) >= from);
  const { from, letter } = units[at]!;
  return `${short(from)}${letter}`;
}

/** 1 turn, 2 turns. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}
