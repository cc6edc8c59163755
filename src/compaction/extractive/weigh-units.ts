import type { CountTokens } from "../plan/summary-task.js";
import { askedWords } from "./asked.js";
import type { Candidate } from "./cover.js";
import { type Phrase, TermTable } from "./term-table.js";
import type { Unit } from "./unit.js";

export interface Weighed {
  readonly candidates: readonly Candidate[];
  /** What saying each term is worth, by its number. */
  readonly worth: Float64Array;
  /** The terms of the instructions. */
  readonly asked: ReadonlySet<number>;
  /** The names and identifiers of the conversation, the worthiest first. */
  readonly phrases: readonly Phrase[];
}

const mostPhrases = 8_000;
const clippedFrom = 90;
/** What matches a person's instructions counts so much more. */
const askedFor = 3;
/** And at least as much as a name, however often it is said. */
const rare = 2.2;
/** What the summary before held counts so much more than what is new. */
const carriedWeight = 1.6;
const sparse = 0.5;
const shortestClip = 40;

/** Finds what every unit says and costs. What was said before in the same words is left out. */
export function weighUnits(
  units: readonly Unit[],
  listed: readonly string[],
  instructions: string,
  count: CountTokens,
): Weighed {
  const table = new TermTable();
  const seen = new Set<string>();
  const phrases: Phrase[] = [];
  const read: { unit: Unit; terms: readonly number[]; order: number }[] = [];
  for (const [order, unit] of units.entries()) {
    const key = unit.text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, " ")
      .trim();
    if (key === "" || seen.has(key)) continue;
    seen.add(key);
    const { terms, phrases: found } = table.add(unit.text);
    if (unit.group !== "tool" && phrases.length < mostPhrases) phrases.push(...found);
    read.push({ unit, terms, order });
  }
  for (const term of listed) phrases.push(...table.add(term).phrases);
  const worth = Float64Array.from({ length: table.size }, (_, term) => table.worth(term));
  const asked = table.known([...askedWords(instructions)].join(" "));
  for (const term of asked) worth[term] = askedFor * Math.max(worth[term]!, rare);
  const candidates: Candidate[] = [];
  for (const { unit, terms, order } of read) {
    const isVerbatim =
      unit.turn < 0 || unit.group === "tool" || (unit.group === "goal" && unit.speaker === "");
    const clipped = isVerbatim ? unit.text : clipClauses(unit.text, table, worth);
    const kept = clipped === unit.text ? terms : [...table.known(clipped)];
    const carried =
      unit.turn < 0
        ? { ...unit, weight: unit.weight * carriedWeight, bonus: unit.bonus * carriedWeight }
        : unit;
    candidates.push({ unit: { ...carried, text: clipped }, order, tokens: count(clipped), terms: kept });
  }
  return { candidates, worth, asked, phrases: ranked(phrases, table, worth) };
}

/** A long sentence without the clauses at its ends that say little for their length. */
function clipClauses(text: string, table: TermTable, worth: Float64Array): string {
  if (text.length < clippedFrom) return text;
  const clauses = text.split(/(?<=[,;:—–]) |(?= (?:but|and|so|which|because) )/u);
  if (clauses.length < 2) return text;
  const values = clauses.map((clause) => {
    let value = 0;
    for (const term of table.known(clause)) value += worth[term]!;
    return value / (clause.length + 1);
  });
  const mean =
    values.reduce((sum, value, at) => sum + value * (clauses[at]!.length + 1), 0) / (text.length + 1);
  let from = 0;
  let to = clauses.length;
  while (to - from > 1 && values[to - 1]! < mean * sparse) to--;
  while (to - from > 1 && values[from]! < mean * sparse) from++;
  const kept = clauses
    .slice(from, to)
    .map((clause) => clause.trim())
    .join(" ");
  if (kept.length < shortestClip || (from === 0 && to === clauses.length)) return text;
  return `${from > 0 ? "…" : ""}${kept.replace(/[\s,;:—–]+$/u, "")}${to < clauses.length ? "…" : ""}`;
}

function ranked(phrases: readonly Phrase[], table: TermTable, worth: Float64Array): Phrase[] {
  const best = new Map<string, { readonly phrase: Phrase; readonly value: number }>();
  for (const found of phrases) {
    const phrase = withoutOpening(found, table);
    const key = phrase.text.toLowerCase();
    if (best.has(key) || phrase.text.length > 80) continue;
    if (!phrase.isIdentifier && !phrase.terms.some((term) => table.isName(term))) continue;
    best.set(key, { phrase, value: Math.max(...phrase.terms.map((term) => worth[term]!)) });
  }
  return [...best.values()].sort((a, b) => b.value - a.value).map(({ phrase }) => phrase);
}

/** "Woohoo Melanie" is Melanie: the first word of a sentence has its capital for nothing. */
function withoutOpening(phrase: Phrase, table: TermTable): Phrase {
  const space = phrase.text.indexOf(" ");
  if (phrase.isIdentifier || space < 0 || table.isName(phrase.terms[0]!)) return phrase;
  return { ...phrase, text: phrase.text.slice(space + 1), terms: phrase.terms.slice(1) };
}
