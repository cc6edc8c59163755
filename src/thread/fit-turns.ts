import { type CountedTokens, countedTokens, plus } from "../domain/token-units.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { splitPlaces } from "./beginnings.js";
import { type ElidablePart, elidableParts, isOfCall, type MessagePlace } from "./elidable-parts.js";
import type { FitRule, MarksEnd } from "./fit.js";
import { answeredCalls, type FittedTurns, isBefore, markTurns, openingOf, placesOf } from "./marked-turns.js";
import type { ShownTurn } from "./shown-turn.js";
import { unansweredTokens } from "./unanswered.js";
import type { CutLimits } from "./window-cut.js";

/** What turns may cost, and what they should come down to if something of them is left out. */
export interface FitLimits extends CutLimits {
  readonly targetTokens: CountedTokens;
}

const leastCap = 64;
/** What a part may cost goes in steps, so that a little more or less room makes the same marks. */
const caps = Array.from({ length: 15 }, (_, step) => leastCap * 2 ** (14 - step)).flatMap((cap) =>
  cap === leastCap ? [cap] : [cap, cap * 0.75],
);
/** Of what costs more than these only a mark is left. */
const markCaps = [32, 24, 16, 0];
/** A mark costs about so much. */
const markTokens = 24;
/** A turn is split later rather than that its calls lose more than this. */
const enoughCallTokens = 256;
/** The request of a split turn takes at most this share of the room. */
const openingShare = 0.5;

/**
 * Makes turns fit that do not, but belong together: each but the first answers what the one before left open, and most often there is
 * only one. First their beginning is left out up to an assistant message. Then tool results and the arguments of answered calls are shortened, the
 * largest first, down to the target; then texts, thinking and attachments; then answered calls are left out with their results, the oldest
 * first. At last only a mark is left, unless something is open. Undefined where even that is too much.
 */
export async function fitTurns(
  counter: TokenCounter,
  group: readonly ShownTurn[],
  limits: FitLimits,
  clean: boolean,
): Promise<FittedTurns | undefined> {
  const places = placesOf(group);
  const costs = suffixCosts(group, places, clean);
  // Nothing is open before an assistant message; what is before it can be left out.
  const splits = group.map(({ facts }) => new Set(splitPlaces(facts.messages)));
  const starts = places.flatMap(({ turn, index }, at) => (splits[turn]!.has(index) ? [at] : []));
  const end = endOf(group);
  const show = (from: Pick<MessagePlace, "turn" | "index">, rule: Partial<FitRule> = {}) =>
    markTurns(counter, group.slice(from.turn), { ...whole, end, splitIndex: from.index, ...rule }, clean);
  const isWithin = ({ tokens, messages }: CutLimits, most: number) =>
    tokens <= most && messages <= limits.messages;

  for (const at of starts) {
    if (!isWithin({ ...costs[at]!, messages: costs[at]!.messages + 1 }, limits.tokens)) continue;
    const openingTokens = openingCap(group[places[at]!.turn]!, limits.tokens);
    const split = await show(places[at]!, { openingTokens });
    if (isWithin(split, limits.tokens)) return split;
    const bare = openingTokens === undefined ? split : await show(places[at]!);
    if (isWithin(bare, limits.tokens)) return bare;
  }

  const sizes = await Promise.all(
    places.map(({ turn, facts }) => elidableParts(counter, group[turn]!, facts)),
  );
  const bound = (at: number, callTokens: number, textTokens: number) =>
    costs[at]!.tokens - savedAtLeast(sizes.slice(at), callTokens, textTokens);
  const uncut = group[0]!.facts.startsClean ? [0] : [];
  const begins = [...uncut, ...starts].filter((at) => costs[at]!.messages < limits.messages || at === 0);
  const begin =
    begins.find((at) => bound(at, enoughCallTokens, Number.POSITIVE_INFINITY) <= limits.targetTokens) ??
    begins.at(-1);
  if (begin !== undefined) {
    const from = begin === 0 && uncut.length > 0 ? { turn: 0, index: 0 } : places[begin]!;
    const turns = group.slice(from.turn);
    const openingTokens =
      from.index > 0 ? openingCap(turns[0]!, countedTokens(limits.targetTokens / 2)) : undefined;
    const calls = await answeredCalls(counter, turns, placesOf(turns), end);
    const levels: readonly (readonly Partial<FitRule>[])[] = [
      [...caps, ...markCaps].map((callTokens) => ({ callTokens, openingTokens })),
      [
        ...[...caps, ...markCaps].map((textTokens) => ({ callTokens: 0, textTokens, openingTokens })),
        { callTokens: 0, textTokens: 0 },
      ],
      leftOutCounts(calls.length).map((leftOutCalls) => ({ callTokens: 0, textTokens: 0, leftOutCalls })),
    ];
    for (const level of levels) {
      for (const most of [limits.targetTokens, limits.tokens]) {
        for (const rule of level) {
          const { callTokens = 0, textTokens = Number.POSITIVE_INFINITY, leftOutCalls = 0 } = rule;
          const isHopeless = leftOutCalls === 0 && bound(begin, callTokens, textTokens) > most;
          if (isHopeless && rule !== level.at(-1)) continue;
          const fitted = await show(from, rule);
          if (isWithin(fitted, most)) return fitted;
        }
      }
    }
  }
  const last = group.at(-1)!;
  if (last.unanswered.length > 0) return undefined;
  const nothing = { turn: group.length - 1, index: last.facts.messages.length };
  for (const openingTokens of [leastCap, undefined]) {
    const mark = await show(nothing, { openingTokens });
    if (isWithin(mark, limits.tokens)) return mark;
  }
  return undefined;
}

/**
 * Shortens results and arguments of whole turns, oldest first, so that those up to one of the ends come down to the target. Of the ends the
 * first is taken with which all of it fits. Undefined where nothing can be shortened, or not enough.
 */
export async function capTurns(
  counter: TokenCounter,
  turns: readonly ShownTurn[],
  limits: FitLimits,
  ends: readonly MarksEnd[],
  clean: boolean,
): Promise<FittedTurns | undefined> {
  const places = placesOf(turns);
  const sizes = await Promise.all(
    places.map(({ turn, facts }) =>
      facts.sentTokens > leastCap ? elidableParts(counter, turns[turn]!, facts) : [],
    ),
  );
  for (const end of ends) {
    const inside = places.map(({ turn, index }) => isBefore(turns[turn]!, index, end));
    const before = places.reduce(
      (sum, { facts }, at) => sum + (inside[at] ? (clean ? facts.cleanTokens : facts.sentTokens) : 0),
      0,
    );
    const kept = sizes.filter((_, at) => inside[at]);
    const saved = (cap: number) => savedAtLeast(kept, cap, Number.POSITIVE_INFINITY);
    const callTokens = caps.find((cap) => before - saved(cap) <= limits.targetTokens) ?? leastCap;
    if (saved(callTokens) <= 0) continue;
    const fitted = await markTurns(counter, turns, { ...whole, end, callTokens }, clean);
    if (fitted.tokens <= limits.tokens && fitted.messages <= limits.messages) return fitted;
  }
  return undefined;
}

const whole: Omit<FitRule, "end"> = {
  splitIndex: 0,
  openingTokens: undefined,
  callTokens: undefined,
  textTokens: undefined,
  leftOutCalls: 0,
};

/** Behind the last message of turns. */
export function endOf(turns: readonly ShownTurn[]): MarksEnd {
  const { stored, from, facts } = turns.at(-1)!;
  return { depth: stored.depth, messageIndex: from + facts.messages.length };
}

/** By how much caps make parts smaller, at least as far as can be said without making the marks. */
function savedAtLeast(
  sizes: readonly (readonly ElidablePart[])[],
  callTokens: number,
  textTokens: number,
): number {
  let saved = 0;
  for (const parts of sizes) {
    for (const part of parts) {
      const cap = Math.max(markTokens, isOfCall(part) ? callTokens : textTokens);
      if (part.tokens > cap) saved += part.tokens - cap;
    }
  }
  return saved;
}

/** How much of the request with which a turn begins is shown where the turn is split. */
function openingCap(turn: ShownTurn, roomTokens: CountedTokens): number | undefined {
  const first = openingOf(turn);
  if (first === undefined) return undefined;
  const { cleanTokens } = turn.facts.messages[first]!;
  const most = roomTokens * openingShare;
  return cleanTokens <= most ? caps.findLast((cap) => cap >= cleanTokens) : caps.find((cap) => cap <= most);
}

/** How many calls are left out, from few to all but one. */
function leftOutCounts(calls: number): number[] {
  const kept = [256, 128, 64, 32, 16, 8, 4, 2, 1];
  return kept.filter((count) => count < calls).map((count) => calls - count);
}

/** What the messages from each place on cost, with the made-up results of their turns. */
function suffixCosts(
  group: readonly ShownTurn[],
  places: readonly MessagePlace[],
  clean: boolean,
): CutLimits[] {
  const costs: CutLimits[] = new Array(places.length);
  let tokens = countedTokens(0);
  let messages = 0;
  for (let at = places.length - 1; at >= 0; at--) {
    const { turn, facts } = places[at]!;
    if (places[at + 1]?.turn !== turn) {
      tokens = plus(tokens, unansweredTokens(group[turn]!));
      messages += group[turn]!.unanswered.length > 0 ? 1 : 0;
    }
    tokens = plus(tokens, clean ? facts.cleanTokens : facts.sentTokens);
    messages++;
    costs[at] = { tokens, messages };
  }
  return costs;
}
