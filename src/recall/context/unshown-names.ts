import { namesIn } from "../../domain/names.js";
import { fill } from "../../domain/prompt-texts.js";
import { SourceFormat } from "../../domain/source.js";
import type { SourceRules } from "../../sources/rules.js";
import type { SourceBlock, SourceView } from "../../sources/source.js";
import type { SearchHit } from "../search/search.js";
import { aboutTokensOf } from "./fit-memories.js";
import { unframed } from "./memory-block.js";
import type { ShownWords } from "./shown-words.js";

/** A folded text, and how much it is about the event. */
export interface WeighedText {
  readonly hit: SearchHit;
  readonly weight: number;
}

/** What the block of names is known by. */
const title = "names";
/** More of a text is not looked through. */
const maxTextChars = 16 * 1024;
const maxTokens = 512;
/** A name has more tokens than its length says. */
const charsPerToken = 3;
const leastTokens = 2;

/**
 * The names in folded texts about the event that history does not show, those first that most of these texts have. A path or a symbol takes
 * a few tokens where its text takes hundreds, and is what a model cannot guess.
 */
export function unshownNames(texts: readonly WeighedText[], shown: ShownWords, roomTokens: number): string[] {
  const weights = new Map<string, number>();
  for (const { hit, weight } of texts)
    for (const name of namesIn(hit.text.text.slice(0, maxTextChars)))
      weights.set(name, (weights.get(name) ?? 0) + weight);
  if (weights.size === 0) return [];
  const names: string[] = [];
  let left = Math.min(maxTokens, roomTokens);
  for (const [name] of [...weights].sort(([, a], [, b]) => b - a)) {
    const tokens = Math.ceil((name.length + 2) / charsPerToken);
    if (left < leastTokens) break;
    if (tokens > left || shown.has(name)) continue;
    left -= tokens;
    names.push(name);
  }
  return names;
}

/** Names as a block of a context. */
export function namesBlock(
  names: readonly string[],
  { texts, nowMs }: SourceView,
  { format }: SourceRules,
): SourceBlock {
  const about = { title, entities: [], detail: `${names.length} names`, isWhole: true };
  const known = { id: title, from: "earlier messages", time: new Date(nowMs).toISOString() };
  if (format === SourceFormat.STRUCTURED)
    return { ...about, content: unframed(JSON.stringify({ ...known, names })) };
  return {
    ...about,
    content: unframed(fill(texts["memory-names"], { names: names.join(", ") })),
    frame: { open: `${fill(texts["memory-open"], known)}\n`, close: `\n${texts["memory-close"]}` },
  };
}

export function namesTokens(block: SourceBlock): number {
  return aboutTokensOf(block.content) + 32;
}
