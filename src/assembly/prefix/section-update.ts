import { type Offload, task } from "../../offload/offload.js";
import { changedLines, type TextChange } from "./changed-lines.js";

/** A change of the system prompt that rides in the current message. */
export interface SectionUpdate {
  readonly section: string;
  readonly text: string;
}

const comparing = task<typeof changedLines>("src/assembly/prefix/changed-lines.ts", "changedLines");
/** Texts up to this, both together, are compared at once: a thread would take longer to hear of them. */
const INLINE_CHARS = 4_096;

/** What a model is told of a section that changed since the system prompt was made: the lines that differ, or all of it where that is shorter or takes less work. */
export async function sectionUpdate(
  offload: Offload,
  section: string,
  change: TextChange,
  signal?: AbortSignal,
): Promise<SectionUpdate> {
  const { before, now } = change;
  if (before === "" || now === "" || before === now) return updateOf(section, change);
  const lines =
    before.length + now.length <= INLINE_CHARS
      ? changedLines(change)
      : await offload.run(comparing, change, signal);
  return updateOf(section, change, lines);
}

/** The update, given the lines that differ where they were found. */
export function updateOf(section: string, change: TextChange, lines?: string): SectionUpdate {
  if (section === "") return madeAnew;
  return { section, text: `${updateHead(section)}\n${bodyOf(change, lines)}\n[End of the update]` };
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

function bodyOf({ before, now }: TextChange, lines: string | undefined): string {
  if (now === "") return "This section no longer applies.";
  if (before === "") return `This section is new:\n${now}`;
  if (before === now) return "This section is again as the system prompt says.";
  const whole = `This section now reads:\n${now}`;
  if (lines === undefined) return whole;
  const changes = `Of this section these lines changed (- before, + now):\n${lines}`;
  return changes.length < whole.length ? changes : whole;
}
