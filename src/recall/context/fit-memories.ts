import type { SourceRules } from "../../sources/rules.js";
import type { SourceBlock, SourceView } from "../../sources/source.js";
import { analyse } from "../terms/analyse.js";
import type { Exchange } from "./exchange.js";
import { memoryBlock } from "./memory-block.js";

/** So many characters are a token, about; of scripts beyond Latin each is nearly one. */
const charsPerToken = 4;
const denseCharacter = /[^\p{ASCII}\p{Script=Latin}]/gu;

/** So many tokens of a text have at least one term that neither the event nor what is already chosen has: less is said again and again. */
const tokensPerNewTerm = 64;

/** Less of a text says too little. */
const leastChars = 160;
/** Ids have more tokens than their length says. */
const frameTokens = 16;
/** What of a text's tokens is its frame, whatever is left of the text: its tags, and what is reckoned for its id. */
const wholeFrameTokens = 3 * frameTokens;

/** What there is room for, and how many texts there was none for. */
export interface FittedMemories {
  readonly blocks: readonly SourceBlock[];
  readonly withoutRoom: number;
}

/**
 * As many as there is room for: those first that say most for what they cost, then in the order of time. What says next to nothing new is left
 * out. Of a text that is longer than the room, the stretch that says most comes.
 */
export function fitMemories(
  exchanges: readonly Exchange[],
  view: SourceView,
  rules: SourceRules,
  limit: number,
  roomTokens: number,
): FittedMemories {
  const offer = (exchange: Exchange, maxChars?: number) => {
    const block = memoryBlock(exchange, view, rules, maxChars);
    return { exchange, block, tokens: aboutTokens(block) };
  };
  const offered = exchanges.map((exchange) => offer(exchange));
  const byWorth = [...offered].sort((a, b) => worth(b) - worth(a));
  const kept: typeof offered = [];
  const said = new Set(analyse(`${view.eventText}\nuser assistant tool`).terms.keys());
  let used = 0;
  let withoutRoom = 0;
  for (const whole of byWorth) {
    if (kept.length >= limit) break;
    const left = roomTokens - used;
    const chars = Math.floor((whole.block.content.length * (left - wholeFrameTokens)) / whole.tokens);
    const one = whole.tokens <= left || chars < leastChars ? whole : offer(whole.exchange, chars);
    if (one.tokens > left) {
      withoutRoom++;
      continue;
    }
    const unsaid = [...analyse(one.block.content).terms.keys()].filter((term) => !said.has(term));
    if (unsaid.length * tokensPerNewTerm < one.tokens) continue;
    for (const term of unsaid) said.add(term);
    kept.push(one);
    used += one.tokens;
  }
  kept.sort(({ exchange: { hit: a } }, { exchange: { hit: b } }) => {
    return Number(a.document.timeUs - b.document.timeUs) || a.document.id - b.document.id;
  });
  return { blocks: kept.map(({ block }) => block), withoutRoom };
}

/** What a text costs, about. */
export function aboutTokensOf(text: string): number {
  const dense = text.match(denseCharacter)?.length ?? 0;
  return Math.ceil((text.length - dense) / charsPerToken) + dense;
}

function aboutTokens({ content, frame }: SourceBlock): number {
  return aboutTokensOf(`${frame?.open ?? ""}${content}${frame?.close ?? ""}`) + frameTokens;
}

interface Offered {
  readonly exchange: Exchange;
  readonly tokens: number;
}

/** A text twice as long must say more than another, but not twice as much. */
function worth({ exchange: { hit }, tokens }: Offered): number {
  return (hit.coverage + Math.max(0, hit.cosine ?? 0)) / Math.sqrt(tokens);
}
