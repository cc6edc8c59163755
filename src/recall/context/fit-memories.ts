import type { SourceRules } from "../../sources/rules.js";
import type { SourceBlock, SourceView } from "../../sources/source.js";
import type { SearchAnswer, SearchHit } from "../search/search.js";
import { analyse, isCompound } from "../terms/analyse.js";
import type { Exchange } from "./exchange.js";
import { memoryBlock } from "./memory-block.js";

/** So many characters are a token, about; of scripts beyond Latin each is nearly one. */
const charsPerToken = 4;
const denseCharacter = /[^\p{ASCII}\p{Script=Latin}]/gu;

/**
 * Whether a text is about what was asked, and not only near it by chance: it is near in meaning, has an identifier of the query, or
 * says much of it, in two words at least where the query has more than one.
 */
export function isTelling(
  { cosine, terms, coverage, features }: SearchHit,
  { query }: SearchAnswer,
  leastCoverage: number,
  leastCosine: number,
): boolean {
  if (cosine !== undefined && cosine >= leastCosine && coverage > 0) return true;
  if (terms.some(isCompound)) return true;
  const enough = Math.min(2, query.terms.filter((term) => !isCompound(term)).length);
  const isNear = features.answersQuestion > 0 || terms.length >= enough;
  return coverage >= leastCoverage && isNear && (terms.length > 0 || features.answersQuestion > 0);
}

/** So many tokens of a text have at least one term that neither the event nor what is already chosen has: less is said again and again. */
const tokensPerNewTerm = 64;

/** As many as there is room for: those first that say most for what they cost, then in the order of time. What says next to nothing new is left out. */
export function fitMemories(
  exchanges: readonly Exchange[],
  view: SourceView,
  rules: SourceRules,
  limit: number,
  roomTokens: number,
): SourceBlock[] {
  const offered = exchanges.map((exchange) => {
    const block = memoryBlock(exchange, view, rules);
    return { exchange, block, tokens: aboutTokens(block) };
  });
  const byWorth = [...offered].sort((a, b) => worth(b) - worth(a));
  const kept: typeof offered = [];
  const said = new Set(analyse(`${view.eventText}\nuser assistant tool`).terms.keys());
  let used = 0;
  for (const one of byWorth) {
    if (kept.length >= limit || used + one.tokens > roomTokens) continue;
    const unsaid = [...analyse(one.block.content).terms.keys()].filter((term) => !said.has(term));
    if (unsaid.length * tokensPerNewTerm < one.tokens) continue;
    for (const term of unsaid) said.add(term);
    kept.push(one);
    used += one.tokens;
  }
  kept.sort(({ exchange: { hit: a } }, { exchange: { hit: b } }) => {
    return Number(a.document.timeUs - b.document.timeUs) || a.document.id - b.document.id;
  });
  return kept.map(({ block }) => block);
}

/** What a text costs, about. */
export function aboutTokensOf(text: string): number {
  const dense = text.match(denseCharacter)?.length ?? 0;
  return Math.ceil((text.length - dense) / charsPerToken) + dense;
}

function aboutTokens({ content, frame }: SourceBlock): number {
  return aboutTokensOf(`${frame?.open ?? ""}${content}${frame?.close ?? ""}`) + frameTokens;
}

/** Ids have more tokens than their length says. */
const frameTokens = 16;

interface Offered {
  readonly exchange: Exchange;
  readonly tokens: number;
}

/** A text twice as long must say more than another, but not twice as much. */
function worth({ exchange: { hit }, tokens }: Offered): number {
  return (hit.coverage + Math.max(0, hit.cosine ?? 0)) / Math.sqrt(tokens);
}
