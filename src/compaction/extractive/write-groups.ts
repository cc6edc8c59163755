import { headingsOf, type SummaryWords } from "../plan/summary-words.js";
import type { Candidate } from "./cover.js";

const joinedChars = 400;

/** What was taken, in the order of the conversation, in headed groups; without headings where there is no room for them. */
export function writeGroups(taken: readonly Candidate[], words: SummaryWords, hasHeadings: boolean): string {
  const ordered = taken.toSorted((a, b) => a.order - b.order);
  const written: string[] = [];
  for (const [group, heading] of Object.entries(headingsOf(words))) {
    const lines = linesOf(ordered.filter(({ unit }) => unit.group === group));
    if (lines.length > 0) written.push(...(hasHeadings ? [heading] : []), ...lines);
  }
  return written.join("\n");
}

/** What was taken, in the order of the conversation, without groups: a script of who said what. */
export function writeScript(taken: readonly Candidate[], words: SummaryWords): string {
  const spoken = taken.map((candidate) =>
    candidate.unit.group === "goal" && candidate.unit.speaker === ""
      ? { ...candidate, unit: { ...candidate.unit, speaker: words["extract-user"] } }
      : candidate,
  );
  return linesOf(spoken.sort((a, b) => a.order - b.order)).join("\n");
}

/** One line for each message; neighbours of one speaker share a line, which names the speaker once. */
function linesOf(taken: readonly Candidate[]): string[] {
  const lines: { text: string; readonly unit: Candidate["unit"] }[] = [];
  for (const { unit } of taken) {
    const last = lines.at(-1);
    const isSameLine =
      last !== undefined &&
      last.unit.day === unit.day &&
      last.unit.speaker === unit.speaker &&
      unit.group !== "tool" &&
      (last.unit.line === unit.line || unit.speaker !== "") &&
      last.text.length < joinedChars;
    if (isSameLine) last.text += joint(last.text, unit.text);
    else lines.push({ text: `${leadOf(unit)}${unit.text}`, unit });
  }
  return lines.map(({ text }) => text);
}

function joint(line: string, text: string): string {
  if (line.endsWith("…")) return ` ${text.replace(/^…/u, "")}`;
  return `${/[.!?:;,。！？…]["'”’)\]*`]*$/u.test(line) ? " " : "; "}${text}`;
}

function leadOf({ day, speaker }: Candidate["unit"]): string {
  return `${day === "" ? "" : `[${day}] `}${speaker === "" ? "" : `${speaker}: `}`;
}
