import { type Floor, FloorKind } from "../../domain/compaction.js";
import { type CountedTokens, countedTokens, plus } from "../../domain/token-units.js";
import { beginnings, splitPlaces } from "../../thread/beginnings.js";
import type { TracedTurn } from "../../thread/traced-turn.js";

/** What history should come down to. All of it is without the summary. */
export interface CutGoal {
  /** What it should cost after. */
  readonly targetTokens: CountedTokens;
  /** What it may cost at the most, when what is never cut alone is over the target. */
  readonly roomTokens: CountedTokens;
  readonly targetMessages: number;
  readonly roomMessages: number;
  /** What it may cost where nothing is folded, so that no new summary needs room. */
  readonly uncutTokens: CountedTokens;
  readonly uncutMessages: number;
  /** How many of the last turns should stay whole. */
  readonly keepTurns: number;
  /** How many turns stay at the most. */
  readonly keepAtMost: number;
}

/** Where the kept part starts. */
export interface PlannedCut {
  readonly turn: number;
  /** Above 0 where a turn had to be split. */
  readonly messageIndex: number;
  readonly keptTokens: CountedTokens;
  readonly floors: readonly Floor[];
}

interface Place {
  readonly turn: number;
  readonly messageIndex: number;
}

/**
 * Where to cut a thread, given oldest first: only where nothing is open, and so that as much as possible stays within the target. The last turns stay whole; where
 * that cannot fit, fewer of them do, and at last the newest is split before an assistant message. Of a turn before them
 * that is larger than the target, and so can never stay whole, the end is kept where there is room.
 * Undefined where nothing can be folded: with older turns before those that are given, all of these may be kept.
 */
export function planCut(
  turns: readonly TracedTurn[],
  goal: CutGoal,
  hasOlder = false,
): PlannedCut | undefined {
  const costs = suffixCosts(turns);
  const begins = beginnings(turns);
  const cut = ({ turn, messageIndex }: Place, floors: readonly Floor[]): PlannedCut => ({
    turn,
    messageIndex,
    keptTokens: costs(turn, messageIndex).tokens,
    floors,
  });
  const isWithin = (place: Place, tokens: CountedTokens, messages: number) => {
    const cost = costs(place.turn, place.messageIndex);
    return cost.tokens <= tokens && cost.messages <= messages;
  };
  const onTarget = (place: Place) => isWithin(place, goal.targetTokens, goal.targetMessages);
  const inRoom = (place: Place) => isWithin(place, goal.roomTokens, goal.roomMessages);

  const keepTurns = Math.min(goal.keepTurns, goal.keepAtMost);
  const wholes = begins
    .filter((turn) => turn > 0 || hasOlder)
    .map((turn): Place => ({ turn, messageIndex: 0 }));
  const places = wholes.filter(({ turn }) => turns.length - turn <= goal.keepAtMost);
  const enough = places.filter(({ turn }) => turns.length - turn >= keepTurns);
  const shown = (count: number) => (count < keepTurns ? [{ kind: FloorKind.KEEP_TURNS, value: count }] : []);
  const splitAt = (place: Place) => {
    const value = turns[place.turn]!.from + place.messageIndex;
    return cut(place, [...shown(turns.length - place.turn), { kind: FloorKind.SPLIT_TURN, value }]);
  };
  /** With the end of the turn before, if that is too large ever to stay whole. */
  const cutAt = (whole: Place): PlannedCut => {
    const count = turns.length - whole.turn;
    const before = begins.filter((turn) => turn < whole.turn).at(-1);
    const isHuge =
      before !== undefined && costs(before, 0).tokens - costs(whole.turn, 0).tokens > goal.targetTokens;
    const more =
      isHuge && count < goal.keepAtMost ? splits(turns, before, whole.turn).find(onTarget) : undefined;
    return more ? splitAt(more) : cut(whole, shown(count));
  };
  const best = enough.find(onTarget);
  if (best) return cutAt(best);
  const last = enough.at(-1);
  if (last && inRoom(last)) return cut(last, [{ kind: FloorKind.OVER_TARGET }]);

  const isKeepable =
    !hasOlder &&
    turns.length <= goal.keepAtMost &&
    isWithin({ turn: 0, messageIndex: 0 }, goal.uncutTokens, goal.uncutMessages);
  if (enough.length === 0 && isKeepable) return undefined;
  const fewer = places.slice(enough.length);
  // What is open at the end may hold more turns together than should be kept.
  const held = wholes.slice(-1).filter(inRoom);
  const kept = fewer.find(onTarget) ?? fewer.find(inRoom) ?? held[0];
  if (kept) return cutAt(kept);

  const from = begins.at(-1) ?? 0;
  const starts = splits(turns, from);
  const split = starts.find(onTarget) ?? starts.find(inRoom) ?? starts.at(-1);
  if (split) return splitAt(split);
  const whole = wholes.at(-1);
  return whole && cut(whole, shown(turns.length - whole.turn));
}

interface Cost {
  readonly tokens: CountedTokens;
  readonly messages: number;
}

/** What the messages from a place on cost; those of a turn that is split are added up once. */
function suffixCosts(turns: readonly TracedTurn[]): (turn: number, messageIndex: number) => Cost {
  const whole: Cost[] = new Array(turns.length + 1);
  whole[turns.length] = { tokens: countedTokens(0), messages: 0 };
  const within = new Map<number, readonly Cost[]>();
  for (let index = turns.length - 1; index >= 0; index--)
    whole[index] = fromEachMessage(turns[index]!, whole[index + 1]!)[0]!;
  return (turn, messageIndex) => {
    if (messageIndex === 0) return whole[turn]!;
    const costs = within.get(turn) ?? fromEachMessage(turns[turn]!, whole[turn + 1]!);
    within.set(turn, costs);
    return costs[messageIndex]!;
  };
}

/** For each message of a turn what is kept when it comes first, with all that comes after the turn. */
function fromEachMessage({ messages, extraTokens, extraMessages }: TracedTurn, after: Cost): Cost[] {
  const costs: Cost[] = new Array(messages.length + 1);
  let cost = { tokens: plus(after.tokens, extraTokens), messages: after.messages + extraMessages };
  costs[messages.length] = cost;
  for (let index = messages.length - 1; index >= 0; index--) {
    const { tokens, role } = messages[index]!;
    cost = { tokens: plus(cost.tokens, tokens), messages: cost.messages + (role === "S" ? 0 : 1) };
    costs[index] = cost;
  }
  return costs;
}

/** Places inside turns at which history may begin after a summary: where nothing of their turn is open. */
function splits(turns: readonly TracedTurn[], from: number, to = turns.length): Place[] {
  const found: Place[] = [];
  const open = new Set<string>();
  for (let turn = from; turn < to; turn++) {
    const { messages, dead } = turns[turn]!;
    const places = new Set(splitPlaces(messages));
    messages.forEach((message, messageIndex) => {
      if (places.has(messageIndex) && open.size === 0) found.push({ turn, messageIndex });
      for (const id of message.closes) open.delete(id);
      for (const id of message.opens) open.add(id);
    });
    for (const id of dead) open.delete(id);
  }
  return found;
}
