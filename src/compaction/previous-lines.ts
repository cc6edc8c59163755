import { sentencesIn } from "./sentences.js";
import type { Group } from "./unit.js";

/** The headings of a summary's groups. */
export const headings: Readonly<Record<Group, string>> = {
  goal: "Goals and instructions:",
  fact: "Facts and decisions:",
  open: "Open:",
  tool: "Tools used:",
};
export const IDENTIFIERS = "Identifiers: ";
export const MENTIONED = "Also mentioned: ";

export interface PreviousLine {
  readonly group: Group;
  readonly speaker: string;
  readonly day: string;
  readonly sentences: readonly string[];
}

export interface PreviousSummary {
  readonly lines: readonly PreviousLine[];
  /** Names and identifiers that stood in a list of their own. */
  readonly terms: readonly string[];
}

const heading = /^(?:#{1,6} .*|\*\*[^*]{1,80}\*\*:?|[^.!?:]{1,60}:)$/u;
const marker = /^\[?previous conversation summary\]?:?$/iu;
const dayMark = /^\[(\d{4}-\d{2}-\d{2})\] /u;
const label = /^([\p{Lu}][\p{L}\p{N}.'_-]{0,24}(?: [\p{Lu}][\p{L}\p{N}.'_-]{0,24}){0,2}): (?=\S)/u;

/** Who speaks, where a text begins as a line of a script: `Ada: hello`. */
export function speakerLabel(text: string): string {
  return label.exec(text.slice(0, 96))?.[1] ?? "";
}

/** A summary taken apart again: one of ours, or anybody's, whose headings tell the group. */
export function readPrevious(summary: string): PreviousSummary {
  const lines: PreviousLine[] = [];
  const terms: string[] = [];
  let group: Group = "fact";
  for (const raw of summary.split("\n")) {
    const line = raw.trim();
    if (line === "" || marker.test(line.slice(0, 64))) continue;
    const list = [IDENTIFIERS, MENTIONED].find((lead) => line.startsWith(lead));
    if (list !== undefined) {
      for (const term of line.slice(list.length).split(", ")) if (term !== "") terms.push(term);
    } else if (line.length <= 84 && heading.test(line)) {
      group = groupOf(line);
    } else {
      lines.push(readLine(line, group));
    }
  }
  return { lines, terms };
}

function readLine(line: string, group: Group): PreviousLine {
  const day = dayMark.exec(line)?.[1] ?? "";
  const dated = day === "" ? line : line.slice(day.length + 3);
  if (group === "tool") return { group, speaker: "", day, sentences: [...pieces(dated)] };
  const speaker = speakerLabel(dated);
  const said = speaker === "" ? dated : dated.slice(speaker.length + 2);
  return { group, speaker, day, sentences: [...pieces(said)] };
}

function* pieces(text: string): Generator<string, void> {
  for (const sentence of sentencesIn(text)) yield sentence.text;
}

function groupOf(line: string): Group {
  if (/\bopen\b|todo|to do|pending|next|remaining|unresolved|outstanding/iu.test(line)) return "open";
  if (/goal|instruction|request|intent|require|preference|constraint|objective|task/iu.test(line))
    return "goal";
  if (/\btools?\b|\bcalls?\b|command/iu.test(line)) return "tool";
  return "fact";
}
