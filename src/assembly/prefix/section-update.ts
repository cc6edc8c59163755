import { fill, type PromptTexts } from "../../domain/prompt-texts.js";
import { type Offload, task } from "../../offload/offload.js";
import { changedLines, type TextChange } from "./changed-lines.js";

/** A change of the system prompt that rides in the current message. */
export interface SectionUpdate {
  readonly section: string;
  readonly text: string;
}

const comparing = task<typeof changedLines>("src/assembly/prefix/changed-lines.ts", "changedLines");
/** Texts up to this, both together, are compared at once: a thread would take longer to hear of them. */
const inlineChars = 4_096;

/** What a model is told of a section that changed since the system prompt was made: the lines that differ, or all of it where that is shorter or takes less work. */
export async function sectionUpdate(
  offload: Offload,
  texts: PromptTexts,
  section: string,
  change: TextChange,
  signal?: AbortSignal,
): Promise<SectionUpdate> {
  const { before, now } = change;
  if (before === "" || now === "" || before === now) return updateOf(texts, section, change);
  const lines =
    before.length + now.length <= inlineChars
      ? changedLines(change)
      : await offload.run(comparing, change, signal);
  return updateOf(texts, section, change, lines);
}

/** The update, given the lines that differ where they were found. */
export function updateOf(
  texts: PromptTexts,
  section: string,
  change: TextChange,
  lines?: string,
): SectionUpdate {
  if (section === rebuiltSection) return rebuilt(texts);
  return framed(texts, section, bodyOf(texts, change, lines));
}

/** The line that an update begins with; that of `rebuilt` for no section. */
export function updateHead(texts: PromptTexts, section: string): string {
  return section === rebuiltSection ? texts["update-rebuilt-head"] : fill(texts["update-head"], { section });
}

/** Stands for the whole system prompt where sections are named. */
export const rebuiltSection = "";

/** What a model is told when updates in history no longer count, for the system prompt holds them, or what came after them. */
export function rebuilt(texts: PromptTexts): SectionUpdate {
  return framed(texts, rebuiltSection, texts["update-rebuilt"]);
}

function framed(texts: PromptTexts, section: string, body: string): SectionUpdate {
  const lines = [updateHead(texts, section), body, texts["update-end"]];
  return { section, text: lines.filter((line) => line !== "").join("\n") };
}

function bodyOf(texts: PromptTexts, { before, now }: TextChange, lines: string | undefined): string {
  if (now === "") return texts["update-gone"];
  if (before === "") return fill(texts["update-new"], { text: now });
  if (before === now) return texts["update-same"];
  const whole = fill(texts["update-whole"], { text: now });
  if (lines === undefined) return whole;
  const changes = fill(texts["update-lines"], { lines });
  return changes.length < whole.length ? changes : whole;
}
