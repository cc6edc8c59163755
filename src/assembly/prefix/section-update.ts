import { structuredPatch } from "diff";

/** A change of the system prompt that rides in the current message. */
export interface SectionUpdate {
  readonly section: string;
  readonly text: string;
}

/** What a model is told of a section that changed since the system prompt was made: the lines that differ, or all of it where that is shorter. */
export function sectionUpdate(section: string, before: string, now: string): SectionUpdate {
  if (section === "") return madeAnew;
  return { section, text: `${updateHead(section)}\n${bodyOf(before, now)}\n[End of the update]` };
}

/** The line that an update begins with; that of `madeAnew` for no section. */
export function updateHead(section: string): string {
  return section === "" ? "[Update of the system prompt]" : `[Update of the system prompt: ${section}]`;
}

/** What a model is told when updates in history no longer count, for the system prompt holds them, or what came after them. */
export const madeAnew: SectionUpdate = {
  section: "",
  text: `${updateHead("")}\nIt was made anew: it counts, and not the updates before this one.\n[End of the update]`,
};

function bodyOf(before: string, now: string): string {
  if (now === "") return "This section no longer applies.";
  if (before === "") return `This section is new:\n${now}`;
  if (before === now) return "This section is again as the system prompt says.";
  const whole = `This section now reads:\n${now}`;
  const lines = changedLines(before, now);
  return lines.length < whole.length ? lines : whole;
}

function changedLines(before: string, now: string): string {
  const { hunks } = structuredPatch("", "", ensureLine(before), ensureLine(now), "", "", { context: 1 });
  const changes = hunks.map((hunk) => hunk.lines.filter((line) => !line.startsWith("\\")).join("\n"));
  return `Of this section these lines changed (- before, + now):\n${changes.join("\n...\n")}`;
}

function ensureLine(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}
