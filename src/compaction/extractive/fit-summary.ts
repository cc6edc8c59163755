import { mentions } from "../plan/identifiers.js";
import type { CountTokens } from "../plan/summary-task.js";
import type { SummaryWords } from "../plan/summary-words.js";
import { clipTokens } from "./clip.js";
import type { Candidate } from "./cover.js";
import { mustKeepLine } from "./must-keep.js";
import type { Phrase } from "./term-table.js";

const mostTried = 2_000;

/** What a summary is written from. */
export interface Chosen {
  /** The best first: where they do not fit, the last go first. */
  readonly taken: readonly Candidate[];
  /** Names and identifiers to list, where nothing that was taken says them and room is left. */
  readonly phrases: readonly Phrase[];
  readonly mustKeep: readonly string[];
  readonly words: SummaryWords;
  readonly write: (taken: readonly Candidate[]) => string;
}

/** The text of what was chosen, never above the limit, and never above `maxTokens` for the sake of what must be kept. */
export function fitSummary(chosen: Chosen, limit: number, maxTokens: number, count: CountTokens): string {
  const { words } = chosen;
  const bare = mustKeepLine(chosen.mustKeep, words, maxTokens, count);
  let taken = chosen.taken;
  for (;;) {
    const body = chosen.write(taken);
    const missing = chosen.mustKeep.filter((id) => !mentions(body, id));
    const text = joined(body, mustKeepLine(missing, words, maxTokens, count));
    const over = count(text) - limit;
    const isWhole = over <= 0 && chosen.mustKeep.every((id) => mentions(text, id) || !mentions(bare, id));
    if (isWhole)
      return chosen.phrases.length > 0 ? withLists(body, missing, { ...chosen, taken }, limit, count) : text;
    if (taken.length <= 1)
      return bare !== "" ? withStart(bare, body, limit, count) : clipTokens(body, limit, count);
    const mean = count(body) / taken.length;
    taken = taken.slice(0, -Math.min(taken.length - 1, Math.max(1, Math.floor(over / (mean + 1)))));
  }
}

function withStart(bare: string, body: string, limit: number, count: CountTokens): string {
  const room = limit - count(bare) - 2;
  const start = room < 4 ? "" : clipTokens(body, room, count);
  const text = joined(start, bare);
  return count(text) <= limit ? text : bare;
}

function withLists(
  body: string,
  missing: readonly string[],
  { phrases, taken, words }: Pick<Chosen, "phrases" | "taken" | "words">,
  limit: number,
  count: CountTokens,
): string {
  const identifiers = `${words["extract-identifiers"]} `;
  const mentioned = `${words["extract-mentioned"]} `;
  const said = new Set(taken.flatMap(({ terms }) => terms));
  const listed: Phrase[] = [];
  const write = () => {
    const ids = [...missing, ...listed.filter(({ isIdentifier }) => isIdentifier).map(({ text }) => text)];
    const names = listed.filter(({ isIdentifier }) => !isIdentifier).map(({ text }) => text);
    return joined(
      body,
      ids.length === 0 ? "" : `${identifiers}${ids.join(", ")}`,
      names.length === 0 ? "" : `${mentioned}${names.join(", ")}`,
    );
  };
  let left = limit - count(write()) - count(`\n${identifiers}\n${mentioned}`);
  for (const phrase of phrases.slice(0, mostTried)) {
    if (left < 3) break;
    if (phrase.terms.every((term) => said.has(term)) || missing.includes(phrase.text)) continue;
    const cost = count(`${phrase.text}, `);
    if (cost > left) continue;
    left -= cost;
    listed.push(phrase);
    for (const term of phrase.terms) said.add(term);
  }
  while (listed.length > 0 && count(write()) > limit) listed.pop();
  return write();
}

function joined(...pieces: readonly string[]): string {
  return pieces.filter((piece) => piece !== "").join("\n");
}
