import { type Floor, FloorKind } from "../../domain/compaction.js";
import { BudgetPolicy } from "../../domain/context-settings.js";
import { countedTokens, type ModelTokens, minus, sumOf } from "../../domain/token-units.js";
import type { ThreadWindow } from "../../ledger/thread-window.js";
import { scaled, unscaled } from "../../models/token-scale.js";
import { type FittedTurns, fitTurns } from "../../thread/fit-turns.js";
import type { ShownTurn } from "../../thread/shown-turn.js";
import { summaryCost } from "../../thread/summary-cost.js";
import { type CutLimits, chooseCut, type WeighedTurn } from "../../thread/window-cut.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import { laneExceeded } from "../plan/strict.js";
import type { ResolvedContext } from "../resolve/resolve.js";

/** What of a resolved request it needs. */
export type ChoiceInput = Pick<ResolvedContext, "scale" | "settings">;

/** What history may use, in the model's tokens. */
export interface HistoryRooms {
  /** Beside the memory's reserve. */
  readonly room: ModelTokens;
  /** When memory gives way. */
  readonly fullRoom: ModelTokens;
}

/** The turns that are shown. */
export interface ChosenTurns {
  /** Newest first. */
  readonly kept: readonly ShownTurn[];
  /** The kept turns, where they had to be cut to fit. */
  readonly fitted: FittedTurns | undefined;
  readonly floors: readonly Floor[];
}

/** Undefined where what is still open does not fit. */
export async function chooseTurns(
  counter: TokenCounter,
  resolved: ChoiceInput,
  window: ThreadWindow,
  { room, fullRoom }: HistoryRooms,
  clean: boolean,
): Promise<ChosenTurns | undefined> {
  const { scale, settings } = resolved;
  const { newestFirst } = window;
  const newest = newestFirst[0];
  const summary = summaryCost(window.compaction);
  const summarized = window.compaction?.summarizedTurns ?? 0;
  const inThread = summarized + window.unreadTurns + newestFirst.length;
  const wanted = Math.min(settings.keepTurns, inThread);
  const fewer = (count: number) => (count < wanted ? [{ kind: FloorKind.KEEP_TURNS, value: count }] : []);
  if (!newest) return { kept: [], fitted: undefined, floors: fewer(0) };
  const turns = newestFirst.map(weighed);
  const limits = {
    tokens: minus(unscaled(scale, room), summary.tokens),
    messages: (settings.maxMessages ?? Number.POSITIVE_INFINITY) - summary.messages,
  };
  if (settings.policy === BudgetPolicy.STRICT_FAIL) requireWhole(resolved, turns, limits);
  const wantedHere = Math.min(wanted, newestFirst.length);
  const keptBy = (cut: number | undefined) => (cut === undefined ? 0 : cut + 1);
  const whole = (count: number, floors: readonly Floor[]) => ({
    kept: newestFirst.slice(0, count),
    fitted: undefined,
    floors: [...floors, ...fewer(count), ...splitFloor(newestFirst[count - 1]!.from)],
  });
  const cut = chooseCut(turns, limits, window.wholeThread);
  if (keptBy(cut) >= wantedHere) return whole(keptBy(cut), []);

  const fullLimits = { ...limits, tokens: minus(unscaled(scale, fullRoom), summary.tokens) };
  const wider = chooseCut(turns, fullLimits, window.wholeThread);
  if (keptBy(wider) >= wantedHere) return whole(keptBy(wider), [{ kind: FloorKind.MEMORY_GAVE_WAY }]);
  if (wider !== undefined) return whole(keptBy(wider), []);

  const begin = newestFirst.findIndex((turn) => turn.facts.startsClean);
  const group = newestFirst.slice(0, begin < 0 ? newestFirst.length : begin + 1);
  const fitted = await fitTurns(counter, group.toReversed(), fullLimits.tokens, fullLimits.messages, clean);
  if (fitted) {
    const kept = fitted.turns.toReversed();
    const count = fitted.elided.length;
    const elided = count > 0 ? [{ kind: FloorKind.ELIDED_RESULTS, value: count }] : [];
    const split = splitFloor(kept.at(-1)!.from + fitted.splitIndex);
    return { kept, fitted, floors: [...fewer(kept.length), ...split, ...elided] };
  }
  if (newest.isActive || newest.unanswered.length > 0) return undefined;
  return { kept: [], fitted: undefined, floors: [...fewer(0), { kind: FloorKind.NO_TURN_FITS }] };
}

function splitFloor(messageIndex: number): readonly Floor[] {
  return messageIndex > 0 ? [{ kind: FloorKind.SPLIT_TURN, value: messageIndex }] : [];
}

/** Under STRICT_FAIL, a thread that is over the lane fails, even where a window of it would fit. */
function requireWhole(resolved: ChoiceInput, turns: readonly WeighedTurn[], limits: CutLimits): void {
  const kept = chooseCut(turns, { ...limits, tokens: countedTokens(Number.POSITIVE_INFINITY) }, false);
  const tokens = sumOf(turns.slice(0, kept === undefined ? 0 : kept + 1), (turn) => turn.tokens);
  if (tokens > limits.tokens)
    throw laneExceeded("history", scaled(resolved.scale, tokens), scaled(resolved.scale, limits.tokens));
}

function weighed(turn: ShownTurn): WeighedTurn {
  return {
    depth: turn.stored.depth,
    tokens: turn.tokens,
    messages: turn.facts.spokenMessages + (turn.unanswered.length > 0 ? 1 : 0),
    startsClean: turn.facts.startsClean,
  };
}

/** A summary gives way before the newest turn does. */
export function isSummaryInPlace(
  resolved: ChoiceInput,
  window: ThreadWindow,
  { fullRoom }: HistoryRooms,
  { kept }: ChosenTurns,
): boolean {
  const { tokens, messages } = summaryCost(window.compaction);
  const { scale, settings } = resolved;
  const fits = tokens <= unscaled(scale, fullRoom) && messages <= (settings.maxMessages ?? messages);
  return fits && (kept.length > 0 || window.newestFirst.length === 0);
}
