import { type Group, headingsOf, type SummaryWords } from "../plan/summary-words.js";
import { sentencesIn } from "./sentences.js";

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
const speakerNames = ["extract-user", "extract-assistant"] as const;
const dayMark = /^\[(\d{4}-\d{2}-\d{2})\] /u;
const label = /^([\p{Lu}][\p{L}\p{N}.'_-]{0,24}(?: [\p{Lu}][\p{L}\p{N}.'_-]{0,24}){0,2}): (?=\S)/u;

/** Who speaks, where a text begins as a line of a script: `Ada: hello`. */
export function speakerLabel(text: string): string {
  return label.exec(text.slice(0, 96))?.[1] ?? "";
}

/**
 * A summary taken apart again: one of ours, by the words that it was written with, or anybody's, whose headings tell the group. Who speaks
 * is named as it is now.
 */
export function readPrevious(summary: string, then: SummaryWords, now: SummaryWords): PreviousSummary {
  const lines: PreviousLine[] = [];
  const terms: string[] = [];
  const headings = Object.entries(headingsOf(then)) as [Group, string][];
  const lists = [then["extract-identifiers"], then["extract-mentioned"]].map((lead) => `${lead} `);
  let group: Group = "fact";
  for (const raw of summary.split("\n")) {
    const line = raw.trim();
    if (line === "" || line === then["summary-mark"] || marker.test(line.slice(0, 64))) continue;
    const own = headings.find(([, text]) => text === line);
    const list = lists.find((lead) => line.startsWith(lead));
    if (own) {
      group = own[0];
    } else if (list !== undefined) {
      for (const term of line.slice(list.length).split(", ")) if (term !== "") terms.push(term);
    } else if (line.length <= 84 && heading.test(line)) {
      group = groupOf(line);
    } else {
      lines.push(readLine(line, group, then, now));
    }
  }
  return { lines, terms };
}

function readLine(line: string, group: Group, then: SummaryWords, now: SummaryWords): PreviousLine {
  const day = dayMark.exec(line)?.[1] ?? "";
  const dated = day === "" ? line : line.slice(day.length + 3);
  if (group === "tool") return { group, speaker: "", day, sentences: [...pieces(dated)] };
  const role = speakerNames.find((name) => dated.startsWith(`${then[name]}: `));
  const label = role ? then[role] : speakerLabel(dated);
  const said = label === "" ? dated : dated.slice(label.length + 2);
  return { group, speaker: role ? now[role] : label, day, sentences: [...pieces(said)] };
}

/** What was joined into one line, apart again, so that nothing is cut a second time. One ellipsis is enough where something is left out. */
function* pieces(text: string): Generator<string, void> {
  for (const joined of text.replace(/…(?:\s*…)+/gu, "…").split(/; | (?=…)/u))
    for (const sentence of sentencesIn(joined)) yield sentence.text;
}

function groupOf(line: string): Group {
  if (/\bopen\b|todo|to do|pending|next|remaining|unresolved|outstanding/iu.test(line)) return "open";
  if (/goal|instruction|request|intent|require|preference|constraint|objective|task/iu.test(line))
    return "goal";
  if (/\btools?\b|\bcalls?\b|command/iu.test(line)) return "tool";
  return "fact";
}
