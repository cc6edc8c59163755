/** Text of strangers without what a terminal would obey: control characters, except for line ends and tabs. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach the terminal
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\uFFFD");
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

/** 1 turn, 2 turns. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}
