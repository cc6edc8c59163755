/** What a caller gives for one line of the message stays on that line. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
