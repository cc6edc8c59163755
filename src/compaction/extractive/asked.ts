import type { Message } from "../../domain/message.js";
import { defaultPromptTexts, fill } from "../../domain/prompt-texts.js";
import { findIdentifiers, type Identifier, type IdentifierKind } from "../plan/find-identifiers.js";
import { summaryLimit } from "../plan/summary-limit.js";
import type { CountTokens, SummaryTask } from "../plan/summary-task.js";
import { callFacts } from "./state/call-facts.js";
import { templatePattern } from "./state/template-pattern.js";
import { stopWords } from "./stop-words.js";
import { resultText } from "./tool-lines.js";

/** So much of a summary may be what a person asked to keep in full. */
const mostShare = 0.6;
const all =
  /(?<!\p{L})(?:all|every|each|any|alle[ns]?|jede[nrs]?|tous|toutes|chaque|todos|todas|cada|tutti|tutte|ogni)(?!\p{L})|所有|全部|すべて|모든|все/iu;
const verbs = new Set(
  "keep list preserve remember include retain note exact exactly verbatim sure make please summary summarize summarise mention write every each all any full whole complete".split(
    " ",
  ),
);
/** Words for what identifiers are, and the kinds that they mean. */
const kindWords: readonly (readonly [RegExp, readonly IdentifierKind[]])[] = [
  [
    /^(?:numbers?|ids?|identifiers?|codes?|references?|refs?|keys?|tickets?|nummern?|kennungen)$/iu,
    ["id", "code", "tag"],
  ],
  [/^(?:paths?|files?|folders?|directories|dateien|pfade)$/iu, ["path"]],
  [/^(?:e-?mails?|mail)$/iu, ["email"]],
  [/^(?:urls?|links?|websites?)$/iu, ["url"]],
  [/^(?:dates?|days?|deadlines?)$/iu, ["date"]],
  [/^(?:amounts?|prices?|costs?|totals?|payments?)$/iu, ["amount"]],
  [/^(?:phones?|telephones?)$/iu, ["phone"]],
  [/^(?:versions?)$/iu, ["version"]],
];
const anyName: readonly IdentifierKind[] = ["id", "code", "tag", "path", "url", "email", "phone"];
/** What stands between the items of a list. */
const listed = /^[\s,;:#/&"'[\]()-]*(?:and|or|und|oder|et|ou|y|o|e)?[\s#"']*$/iu;
const before = 64;
const behind = 24;

/** The words of an instruction that say what it is about, as they are and in the other number. */
export function askedWords(instructions: string): Set<string> {
  const words = new Set<string>();
  for (const [word] of instructions
    .slice(0, 4_000)
    .toLowerCase()
    .matchAll(/[\p{L}\p{N}][\p{L}\p{N}'_-]+/gu)) {
    if (stopWords.has(word) || verbs.has(word)) continue;
    words.add(word);
    for (const other of [
      word.replace(/ies$/u, "y"),
      word.replace(/(?:es|s)$/u, ""),
      word.replace(/s$/u, ""),
      `${word}s`,
      `${word}es`,
    ])
      if (other.length > 2) words.add(other);
  }
  return words;
}

/**
 * A summary that begins with everything that its instructions want to be kept in full ("keep all order numbers"), and says how many of it had
 * no room. The list is carried on from summary to summary.
 */
export function withAsked(
  task: SummaryTask,
  count: CountTokens,
  summarize: (task: SummaryTask) => string,
): string {
  const { texts = defaultPromptTexts, previousWords = defaultPromptTexts } = task;
  const carried = readAsked(task.previousSummary, previousWords);
  const found = [...new Set([...carried.items, ...askedIn(task)])];
  if (found.length === 0) return summarize(task);
  const limit = summaryLimit(task, count);
  const lead = `${texts["extract-asked"]} `;
  const more = (left: number) =>
    left === 0 ? "" : ` ${fill(texts["extract-asked-left-out"], { count: left })}`;
  let room = Math.floor(limit * mostShare) - count(`${lead}${more(found.length + carried.leftOut)}\n`);
  const kept = found.filter((item) => {
    const cost = count(`${item}, `);
    if (cost > room) return false;
    room -= cost;
    return true;
  });
  if (kept.length === 0) return summarize({ ...task, previousSummary: carried.rest });
  const line = `${lead}${kept.join(", ")}${more(found.length - kept.length + carried.leftOut)}`;
  const said = summarize({
    ...task,
    previousSummary: carried.rest,
    maxTokens: limit - count(line) - 1,
    mustKeep: task.mustKeep.filter((id) => !kept.includes(id)),
  });
  return said === "" ? line : `${line}\n${said}`;
}

/** What a summary says that it keeps because it was asked to, and the summary without that. */
function readAsked(
  summary: string,
  words: { readonly "extract-asked": string; readonly "extract-asked-left-out": string },
) {
  const lead = `${words["extract-asked"]} `;
  const lines = summary.split("\n");
  const at = lines.findIndex((line) => line.startsWith(lead));
  if (at < 0) return { items: [], leftOut: 0, rest: summary };
  const source = templatePattern(words["extract-asked-left-out"])
    .source.slice(1, -1)
    .replace("(?<count>.+)", "(?<count>\\d+)");
  const tail = new RegExp(` ${source}$`, "u").exec(lines[at]!);
  const list = lines[at]!.slice(lead.length, tail?.index);
  return {
    items: list.split(", ").filter((item) => item !== ""),
    leftOut: Number(tail?.groups?.count ?? 0) || 0,
    rest: lines.toSpliced(at, 1).join("\n"),
  };
}

/** All identifiers of the turns that the instructions mean, in order. */
function askedIn({ instructions, turns }: SummaryTask): Set<string> {
  const found = new Set<string>();
  if (!all.test(instructions.slice(0, 4_000))) return found;
  const kinds = new Set<IdentifierKind>();
  const topics: string[] = [];
  for (const word of askedWords(instructions)) {
    const meant = kindWords.find(([pattern]) => pattern.test(word));
    if (meant) for (const kind of meant[1]) kinds.add(kind);
    else topics.push(word);
  }
  if (kinds.size === 0) for (const kind of anyName) kinds.add(kind);
  for (const { messages } of turns)
    for (const text of messages.flatMap(textsOf)) {
      let end = 0;
      let isMeant = false;
      for (const { text: item, kind, at } of namedIn(text)) {
        const lead = text.slice(Math.max(end, at - before), at);
        const near = `${lead} ${text.slice(at + item.length, at + item.length + behind)}`.toLowerCase();
        // One of a list is what the others are.
        const goesOn = end > 0 && listed.test(lead) && at - end < before;
        isMeant = goesOn ? isMeant : topics.length === 0 || topics.some((topic) => near.includes(topic));
        if (isMeant && kinds.has(kind)) found.add(item);
        end = at + item.length;
      }
    }
  return found;
}

/** Identifiers, and numbers that are too short to be told from others by themselves. */
function namedIn(text: string): Identifier[] {
  const found = findIdentifiers(text);
  const short: typeof found = [];
  let next = 0;
  for (const match of text.matchAll(/(?<![\w.,$€£-])\d{3,4}(?![\w%]|[.,:]\d)/gu)) {
    while (next < found.length && found[next]!.at + found[next]!.text.length <= match.index) next++;
    if (next < found.length && found[next]!.at <= match.index) continue;
    short.push({ text: match[0], kind: "id", at: match.index });
  }
  return [...found, ...short].sort((a, b) => a.at - b.at);
}

function textsOf({ parts }: Message): string[] {
  return parts.flatMap(({ content }) => {
    if (content?.$case === "text") return [content.value.text];
    if (content?.$case === "toolResult") return [resultText(content.value)];
    if (content?.$case !== "toolCall") return [];
    const { path, command, text } = callFacts(content.value);
    return [path, command, text];
  });
}
